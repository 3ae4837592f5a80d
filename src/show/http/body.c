#include "http/body.h"

#include <assert.h>
#include <jansson.h>

static void json_put(json_t *json)
{
	json_decref(json);
}
CLEAN_DEFINE(json_put, json_t *);

static struct err *member_add(const char *name, json_t *value, struct arena *arena,
			      struct params *params)
{
	const char *text = NULL;

	params->wrong = arena_strdup(arena, name);
	switch (json_typeof(value)) {
	case JSON_STRING:
		text = arena_strdup(arena, json_string_value(value));
		break;
	case JSON_INTEGER:
		if (json_integer_value(value) >= 0)
			text = arena_printf(arena, "%lld", (long long)json_integer_value(value));
		break;
	case JSON_TRUE:
		text = "1";
		break;
	case JSON_FALSE:
		text = "0";
		break;
	case JSON_NULL:
		return NULL; /* as if it were missing */
	case JSON_OBJECT:
	case JSON_ARRAY:
	case JSON_REAL:
		break;
	}
	if (!text || !params->wrong)
		return err_new(ERR_USAGE, "%.64s: expected a string, an integer, true or false",
			       name);
	return params_add(params, params->wrong, text);
}

struct err *body_parse(const char *body, size_t len, struct arena *arena, struct params *params)
{
	json_error_t error;
	CLEAN(json_put)
	json_t *object = json_loadb(body ? body : "", len, JSON_REJECT_DUPLICATES, &error);
	struct err *err = NULL;
	const char *name;
	json_t *value;

	assert(params->route);
	assert(body || len == 0);
	if (!object)
		return err_new(ERR_USAGE, "the body is not JSON: line %d, column %d: %s",
			       error.line, error.column, error.text);
	if (!json_is_object(object))
		return err_new(ERR_USAGE, "the body is not a JSON object");
	json_object_foreach(object, name, value)
	{
		err = member_add(name, value, arena, params);
		if (err)
			return err;
	}
	params->wrong = NULL;
	return NULL;
}
