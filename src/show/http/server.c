#include "http/answered.h"
#include "http/server.h"

#include <assert.h>
#include <strings.h>
#include <time.h>

#include "base/monotonic.h"
#include "http/assets.h"
#include "http/body.h"
#include "http/call.h"
#include "http/problem.h"
#include "http/sink.h"

static const char json_type[] = "application/json; charset=utf-8";

/* --- errors -------------------------------------------------------------------------------- */

static void answer_problem(struct answer *answer, unsigned status, const struct problem *problem)
{
	static const char no_memory[] = "{\"error\":{\"message\":\"out of memory\"}}\n";
	CLEAN(str_deinit) struct str text = { 0 };

	problem_write(problem, &text);
	answer_deinit(answer);
	answer->status = status;
	answer->type = json_type;
	answer->retry_after = status == 503;
	if (!text.failed)
		answer->blob = blob_create(text.ptr, text.len);
	if (!text.failed)
		text = (struct str) { 0 }; /* owned by the blob now */
	if (!answer->blob) {
		answer->bytes = no_memory;
		answer->size = sizeof(no_memory) - 1;
	}
}

void server_refuse(struct answer *answer, const struct refusal *refusal)
{
	assert(refusal->status >= 400);
	assert(refusal->message);
	answer_problem(answer, refusal->status,
		       &(struct problem) { .message = refusal->message, .hint = refusal->hint });
}

static void answer_error(struct answer *answer, const struct call *call, struct err *err)
{
	const char *wrong = call->params->wrong;
	const struct param_value *value = wrong ? params_find(call->params, wrong) : NULL;
	struct problem problem = { .message = err_message(err), .parameter = wrong };

	problem.value = value ? value->text : wrong ? call->params->wrong_text : NULL;
	problem.has_place = err_at_of(err, &problem.at, &problem.suggest);
	if (err_code_of(err) == ERR_LIMIT)
		problem.hint = "ask for less: a shorter time, a smaller part";
	answer_problem(answer, problem_status(err), &problem);
	err_destroy(err);
}

/* --- calls --------------------------------------------------------------------------------- */

static struct err *call_tape(struct call *call)
{
	const struct param_value *id = params_find(call->params, "c");
	const char *text = id ? id->text : "last";
	struct err *err;

	if (!(route_flags(call->route) & (ROUTE_TAPE | ROUTE_SELECTS)))
		return NULL;
	call->tape = tapes_find(call->server->tapes, text, strlen(text));
	if (!call->tape)
		return call_blame(call, "c", err_new(ERR_NOT_FOUND, "no tape '%.64s'", text));
	err = tapes_acquire(call->tape, call_number(call, "gen"), &call->limits, &call->loaded);
	if (err)
		return err;
	call->model = call->loaded->model;
	call->gen = call->loaded->gen;
	return call_choose_subject(call);
}

static struct err *run_json(struct call *call, uint64_t begin_ns)
{
	const struct emit_settings settings = { .format = EMIT_JSON, .compact = true };
	CLEAN(emit_destroy) struct emit *emit = emit_create(call->out, &settings);
	struct err *err;

	if (!emit)
		return err_nomem();
	call->emit = emit;
	emit_object(emit, NULL);
	emit_u64(emit, "gen", call->gen, EMIT_PLAIN);
	err = answered_run(call);
	if (err)
		return err;
	if (call->is_approximate)
		emit_bool(emit, "approx", true);
	emit_ratio(emit, "ms", (double)(monotonic_ns() - begin_ns) / 1e6, 3);
	emit_end(emit);
	return emit_finish(emit);
}

/* The answer is held back until complete, so that an error can replace it. */
static struct err *run_to_sink(struct call *call, uint64_t begin_ns, struct answer *answer)
{
	const bool is_file = call->route->flags & ROUTE_FILE;
	struct sink sink;
	struct err *err;

	err = is_file ? sink_open_file(&sink, &call->limits, call->server->settings.file_bytes_max)
		      : sink_open(&sink, &call->limits);
	if (err)
		return err;
	call->out = sink.out;
	if (call->route->flags & (ROUTE_RAW | ROUTE_FILE))
		err = call->route->run(call);
	else
		err = run_json(call, begin_ns);
	return sink_close(&sink, err, answer);
}

/* Cache key; empty: not cached. */
static void cache_key(const struct call *call, struct str *key)
{
	const unsigned never = ROUTE_UNCACHED | ROUTE_FILE | ROUTE_POST | ROUTE_STREAM;

	if (!call->server->cache || !call->tape || call->gen != 0 || call->route->flags & never)
		return;
	str_printf(key, "%p %llu ", (void *)call->tape, (unsigned long long)call->loaded->number);
	params_canonical(call->params, key);
	if (key->failed)
		str_clear(key);
}

static struct err *run_or_repeat(struct call *call, uint64_t begin_ns, struct answer *answer)
{
	CLEAN(str_deinit) struct str key = { 0 };
	struct err *err;

	cache_key(call, &key);
	if (key.len)
		answer->blob = cache_get(call->server->cache, key.ptr, &answer->type);
	if (answer->blob)
		return NULL;
	if (call->route->flags & ROUTE_STREAM) {
		answer->type = call->type;
		err = call->route->run(call);
		answer->stream = call->stream;
		return err;
	}
	err = run_to_sink(call, begin_ns, answer);
	answer->type = call->type;
	if (!err && key.len && answer->blob && !call->file_name)
		cache_put(call->server->cache, key.ptr, answer->blob, answer->type);
	return err;
}

/* Values of the path, the query and the body. */
static struct err *params_take(struct call *call, const struct request *request, const char *id,
			       size_t id_len)
{
	const char *query = strchr(request->target, '?');
	const char *text;
	struct err *err;

	query = query ? query + 1 : "";
	err = params_parse(call->route, query, strcspn(query, "#"), call->arena, call->params);
	if (!err && id) {
		text = params_decode(id, id_len, false, call->arena);
		err = params_add(call->params, "c", text ? text : "?");
	}
	if (!err && strcmp(request->method, "POST") == 0)
		err = body_parse(request->body, request->body_len, call->arena, call->params);
	return err ? err : params_complete(call->params);
}

static struct err *call_run(struct call *call, const struct request *request, const char *id,
			    size_t id_len, struct answer *answer)
{
	const uint64_t begin_ns = monotonic_ns();
	struct err *err = params_take(call, request, id, id_len);

	if (!err)
		err = call_tape(call);
	if (!err)
		err = run_or_repeat(call, begin_ns, answer);
	if (err)
		return err;
	answer->status = 200;
	if (call->file_name)
		str_format(answer->file_name, sizeof(answer->file_name), "%s", call->file_name);
	return NULL;
}

static uint64_t limit_of(const struct server *server, const struct route *route)
{
	enum { PATIENCE = 6 };
	const uint64_t limit_ns = server->settings.time_limit_ns;

	if (route->flags & ROUTE_FILE)
		return server->settings.file_time_limit_ns;
	if (route->flags & ROUTE_SQL)
		return server->settings.sql_time_limit_ns;
	return route_flags(route) & ROUTE_PATIENT && limit_ns < UINT64_MAX / PATIENCE
		       ? limit_ns * PATIENCE
		       : limit_ns;
}

/* The code that got no memory cannot know why; the budget does. */
static struct err *memory_explain(const struct arena_budget *budget, struct err *err)
{
	if (!budget->is_over || err_code_of(err) != ERR_NOMEM)
		return err;
	err_destroy(err);
	return err_new(ERR_LIMIT, "the answer needs more than %llu MiB of memory (--answer-memory)",
		       (unsigned long long)(budget->max_bytes >> 20));
}

static void answer_route(struct server *server, const struct request *request,
			 const struct route *route, const char *id, size_t id_len,
			 struct answer *answer)
{
	const uint64_t limit_ns = limit_of(server, route);
	const uint64_t memory_bytes = server->settings.memory_bytes;
	struct arena_budget budget = { .max_bytes = memory_bytes ? memory_bytes : SIZE_MAX };
	CLEAN(arena_deinit) struct arena arena = { .budget = &budget };
	struct params params = { .route = route };
	struct call call = {
		.route = route,
		.params = &params,
		.server = server,
		.arena = &arena,
		.type = route->type ? route->type : json_type,
		.limits = { .cancel = request->cancel },
		.last_event_id = request->last_event_id.text,
	};
	struct err *err;

	if (limit_ns)
		call.limits.deadline_ns = monotonic_ns() + limit_ns;
	err = call_run(&call, request, id, id_len, answer);
	if (err)
		answer_error(answer, &call, memory_explain(&budget, err));
	call_release(&call);
	tapes_release(call.loaded);
}

/* --- requests ------------------------------------------------------------------------------ */

/* route NULL: static files. */
static const char *method_of(const struct route *route)
{
	return route && route->flags & ROUTE_POST ? "POST" : "GET";
}

static bool method_fits(const struct request *request, const struct route *route)
{
	const char *wanted = method_of(route);

	if (route && route->flags & ROUTE_MAY_POST && strcmp(request->method, "POST") == 0)
		return true;
	return strcmp(request->method, wanted) == 0 ||
	       (strcmp(request->method, "HEAD") == 0 && strcmp(wanted, "GET") == 0 &&
		!(route && route->flags & ROUTE_STREAM));
}

static bool begins_with(const char *text, const char *head)
{
	return strncmp(text, head, strlen(head)) == 0;
}

static bool is_path(const char *target)
{
	for (const unsigned char *c = (const unsigned char *)target; *c; c++) {
		if (*c <= ' ' || *c == 0x7f)
			return false;
	}
	return target[0] == '/';
}

/* A form of another page cannot send this type without a preflight request, which is refused. */
static bool is_json(const struct header *type)
{
	static const char name[] = "application/json";
	const size_t len = strlen(name);

	return type->count == 1 && strncasecmp(type->text, name, len) == 0 &&
	       (type->text[len] == '\0' || type->text[len] == ';' || type->text[len] == ' ');
}

void server_init(struct server *server)
{
	pthread_mutex_init(&server->sql_lock, NULL);
	pthread_mutex_init(&server->attach_lock, NULL);
}

void server_deinit(struct server *server)
{
	pthread_mutex_destroy(&server->attach_lock);
	pthread_mutex_destroy(&server->sql_lock);
}

struct control *server_control(const struct server *server)
{
	return __atomic_load_n(&server->control, __ATOMIC_ACQUIRE);
}

struct tape *server_recorded(const struct server *server)
{
	struct tape *tape = __atomic_load_n(&server->recorded, __ATOMIC_ACQUIRE);

	return tape ? tape : tapes_find(server->tapes, "last", 4);
}

void server_record(struct server *server, struct control *control, struct tape *tape)
{
	assert(control && tape);
	__atomic_store_n(&server->recorded, tape, __ATOMIC_RELEASE);
	__atomic_store_n(&server->control, control, __ATOMIC_RELEASE);
}

struct err *server_processes(const struct server *server,
			     const struct processes_source **source_ret)
{
	*source_ret = server->processes;
	return server->processes
		       ? NULL
		       : err_new(ERR_UNSUPPORTED,
				 "this server does not attach to processes: it serves a recording, "
				 "or others could ask it to (--listen, --allow-host, --no-token); "
				 "`memtape serve --attach` does so even then");
}

void server_answer(struct server *server, const struct request *request, struct answer *answer)
{
	static const struct refusal not_here = { 404, "not found",
						 "GET /api/v1/openapi.json lists what there is" };
	static const struct refusal no_path = { 400, "expected a path", NULL };
	static const struct refusal no_json = { 415, "expected Content-Type: application/json",
						NULL };
	static const struct refusal not_so = { 405, "this cannot be done here", NULL };
	const size_t path_len = strcspn(request->target, "?");
	const bool is_api = begins_with(request->target, "/api/") ||
			    begins_with(request->target, "/data/") ||
			    begins_with(request->target, "/list");
	const struct refusal refusal = guard_check(&server->guard, request, is_api);
	const struct route *route;
	size_t id_len;
	const char *id;

	assert(request->method && request->target);
	if (refusal.status || !is_path(request->target)) {
		server_refuse(answer, refusal.status ? &refusal : &no_path);
		return;
	}
	route = route_find(request->target, path_len, &id, &id_len);
	if (!method_fits(request, route)) {
		server_refuse(answer, &not_so);
		answer->allow = method_of(route);
	} else if (route && strcmp(request->method, "POST") == 0 &&
		   !is_json(&request->content_type)) {
		server_refuse(answer, &no_json);
	} else if (route) {
		answer_route(server, request, route, id, id_len, answer);
	} else if (!assets_answer(request, answer)) {
		server_refuse(answer, &not_here);
	}
}
