/*
 * /api/v1/openapi.json: the API for programs, generated from the table of routes.
 */
#include "http/openapi.h"

#include "answer/schema.h"
#include "http/call.h"
#include "http/server.h"

static void emit_words(struct emit *emit, const char *const *words)
{
	emit_list(emit, "enum");
	for (; *words; words++)
		emit_text(emit, NULL, *words);
	emit_end(emit);
}

static void emit_one_type(struct emit *emit, const struct param *param)
{
	const bool is_number = param->kind == PARAM_NUMBER;

	emit_text(emit, "type", is_number ? "integer" : "string");
	switch (param->kind) {
	case PARAM_NUMBER:
		emit_u64(emit, "minimum", param->min, EMIT_PLAIN);
		if (param->max)
			emit_u64(emit, "maximum", param->max, EMIT_PLAIN);
		break;
	case PARAM_CHOICE:
		emit_words(emit, param->words);
		break;
	case PARAM_FLAG:
		emit_words(emit, (const char *const[]) { "0", "1", NULL });
		break;
	case PARAM_HASH:
		emit_text(emit, "pattern", "^[0-9a-fA-F]{1,16}$");
		break;
	case PARAM_PATH:
		emit_text(emit, "pattern", "^[0-9a-fA-F]{1,16}([.][0-9a-fA-F]{1,16})*$");
		break;
	case PARAM_FILTER:
		emit_text(emit, "format", "memtape-filter");
		break;
	case PARAM_MOMENT:
		emit_text(emit, "format", "memtape-moment");
		break;
	case PARAM_TEXT:
	case PARAM_TEXTS:
		break;
	}
}

static void emit_type(struct emit *emit, const char *key, const struct param *param,
		      const char *description)
{
	emit_object(emit, key);
	if (param->kind == PARAM_TEXTS) {
		emit_text(emit, "type", "array");
		emit_object(emit, "items");
		emit_one_type(emit, param);
		emit_end(emit);
	} else {
		emit_one_type(emit, param);
	}
	if (description)
		emit_text(emit, "description", description);
	emit_end(emit);
}

static void emit_param(struct emit *emit, const struct route *route, const struct param *param)
{
	const bool is_in_path = strcmp(param->name, "c") == 0 && strstr(route->path, "{c}");

	emit_object(emit, NULL);
	emit_text(emit, "name", param->name);
	emit_text(emit, "in", is_in_path ? "path" : "query");
	emit_bool(emit, "required", is_in_path || param->is_required);
	emit_text(emit, "description", param->doc);
	emit_type(emit, "schema", param, param->missing);
	emit_end(emit);
}

/* Members of the body of a POST. */
static void emit_body(struct emit *emit, const struct route *route)
{
	emit_object(emit, "requestBody");
	emit_bool(emit, "required", true);
	emit_object(emit, "content");
	emit_object(emit, "application/json");
	emit_object(emit, "schema");
	emit_text(emit, "type", "object");
	emit_object(emit, "properties");
	for (size_t i = 0; i < route->param_count; i++)
		emit_type(emit, route->params[i].name, &route->params[i], route->params[i].doc);
	emit_end(emit);
	emit_list(emit, "required");
	for (size_t i = 0; i < route->param_count; i++) {
		if (route->params[i].is_required)
			emit_text(emit, NULL, route->params[i].name);
	}
	for (int i = 0; i < 5; i++)
		emit_end(emit);
}

/* Its members, with those common to all answers; a file is a string. */
static void emit_answer_schema(struct emit *emit, const struct route *route)
{
	const struct shape *shape = route_shape(route);

	emit_object(emit, "schema");
	if (shape) {
		emit_list(emit, "allOf");
		schema_reference_to(emit, NULL, "Head");
		schema_reference(emit, NULL, shape);
		emit_end(emit);
	} else {
		emit_text(emit, "type", route->type ? "string" : "object");
	}
	emit_end(emit);
}

static void emit_answers(struct emit *emit, const struct route *route)
{
	const struct shape *shape = route_shape(route);

	emit_object(emit, "responses");
	emit_object(emit, "200");
	emit_text(emit, "description", shape ? shape->name : route->type ? "a file" : "an object");
	emit_object(emit, "content");
	emit_object(emit, route->type ? route->type : "application/json");
	emit_answer_schema(emit, route);
	for (int i = 0; i < 3; i++)
		emit_end(emit);
	emit_object(emit, "default");
	emit_text(emit, "description", "what is wrong");
	emit_object(emit, "content");
	emit_object(emit, "application/json");
	emit_object(emit, "schema");
	emit_text(emit, "$ref", "#/components/schemas/Error");
	for (int i = 0; i < 5; i++)
		emit_end(emit);
}

static void emit_method(struct emit *emit, const struct route *route, bool is_post)
{
	const struct param *params[PARAMS_MAX];
	const size_t count = route_params(route, params);
	const size_t in_body = is_post ? route->param_count : 0;

	emit_object(emit, is_post ? "post" : "get");
	emit_text(emit, "summary", route_summary(route));
	emit_list(emit, "parameters");
	for (size_t i = 0; i < count - in_body; i++)
		emit_param(emit, route, params[i]);
	emit_end(emit);
	if (is_post)
		emit_body(emit, route);
	emit_answers(emit, route);
	emit_end(emit);
}

static void emit_route(struct emit *emit, const struct route *route)
{
	emit_object(emit, route->path);
	if (!(route->flags & ROUTE_POST))
		emit_method(emit, route, false);
	if (route->flags & (ROUTE_POST | ROUTE_MAY_POST))
		emit_method(emit, route, true);
	emit_end(emit);
}

static void emit_error_schema(struct emit *emit)
{
	static const char *const texts[] = { "message", "hint", "parameter", "suggest" };
	static const char *const numbers[] = { "pos", "len" };

	emit_object(emit, "Error");
	emit_text(emit, "type", "object");
	emit_object(emit, "properties");
	emit_object(emit, "error");
	emit_text(emit, "type", "object");
	emit_object(emit, "properties");
	for (size_t i = 0; i < array_size(texts); i++) {
		emit_object(emit, texts[i]);
		emit_text(emit, "type", "string");
		emit_bool(emit, "nullable", i > 0);
		emit_end(emit);
	}
	for (size_t i = 0; i < array_size(numbers); i++) {
		emit_object(emit, numbers[i]);
		emit_text(emit, "type", "integer");
		emit_bool(emit, "nullable", true);
		emit_end(emit);
	}
	for (int i = 0; i < 4; i++)
		emit_end(emit);
}

/* Common to all answers of routes that are not files. */
struct head {
	uint64_t gen;
	bool approx;
	double ms;
};

static const struct member head_members[] = {
	MEMBER(struct head, gen, PLAIN,
	       "which reading of a tape that is being recorded this is; 0: it is finished"),
	MEMBER(struct head, approx, FLAG, "a number may be an estimate", .optional = true),
	MEMBER(struct head, ms, RATIO, "time the server took"),
};
static const struct shape shape_head = SHAPE("Head", struct head, head_members);

static void emit_schemas(struct emit *emit)
{
	struct schemas schemas = { 0 };

	schemas_add(&schemas, &shape_head);
	for (const struct route *const *at = route_table; *at; at++)
		if (route_shape(*at))
			schemas_add(&schemas, route_shape(*at));
	emit_object(emit, "schemas");
	emit_error_schema(emit);
	for (size_t i = 0; i < schemas.count; i++)
		schema_emit(emit, schemas.items[i]->name, schemas.items[i]);
	emit_end(emit);
}

static void emit_components(struct emit *emit)
{
	emit_object(emit, "components");
	emit_schemas(emit);
	emit_object(emit, "securitySchemes");
	emit_object(emit, "token");
	emit_text(emit, "type", "http");
	emit_text(emit, "scheme", "bearer");
	emit_end(emit);
	emit_end(emit);
	emit_end(emit);
	emit_list(emit, "security");
	emit_object(emit, NULL);
	emit_list(emit, "token");
	for (int i = 0; i < 3; i++)
		emit_end(emit);
}

struct err *openapi_write(const char *version, FILE *out)
{
	const struct emit_settings settings = { .format = EMIT_JSON };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);

	if (!emit)
		return err_nomem();
	emit_object(emit, NULL);
	emit_text(emit, "openapi", "3.0.3");
	emit_object(emit, "info");
	emit_text(emit, "title", "memtape");
	emit_text(emit, "version", version);
	emit_end(emit);
	emit_object(emit, "paths");
	for (const struct route *const *at = route_table; *at; at++)
		emit_route(emit, *at);
	emit_end(emit);
	emit_components(emit);
	emit_end(emit);
	return emit_finish(emit);
}

static struct err *run(struct call *call)
{
	return openapi_write(call->server->settings.version, call->out);
}

const struct route route_api_openapi = {
	.path = "/api/v1/openapi.json",
	.summary = "this document",
	.flags = ROUTE_RAW,
	.run = run,
};
