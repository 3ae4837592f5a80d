#include "http/params.h"

#include <assert.h>

#include "select/selection.h"

/* --- encoding ------------------------------------------------------------------------------ */

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_utf8(const char *text)
{
	size_t bytes;

	for (; *text; text += bytes) {
		bytes = str_utf8_bytes(text);
		if (bytes == 0)
			return false;
	}
	return true;
}

char *params_decode(const char *text, size_t len, bool percent_is_itself, struct arena *arena)
{
	char *decoded = arena_alloc(arena, len + 1);
	size_t used = 0;

	assert(text || len == 0);
	for (size_t i = 0; decoded && i < len; i++) {
		int high, low;
		char c = text[i];

		if (c == '+') {
			c = ' ';
		} else if (c == '%') {
			high = len - i > 2 ? hex_value(text[i + 1]) : -1;
			low = len - i > 2 ? hex_value(text[i + 2]) : -1;
			if (high >= 0 && low >= 0) {
				c = (char)(high << 4 | low);
				i += 2;
			} else if (!percent_is_itself) {
				return NULL;
			}
		}
		if (c == '\0')
			return NULL;
		decoded[used++] = c;
	}
	return decoded && is_utf8(decoded) ? decoded : NULL;
}

/* --- values of each kind ------------------------------------------------------------------- */

static struct err *number_check(const struct param *param, struct param_value *value)
{
	const uint64_t max = param->max ? param->max : UINT64_MAX;

	if (!str_parse_u64(value->text, &value->number))
		return err_new(ERR_USAGE, "%s must be a number", param->name);
	if (value->number < param->min || value->number > max)
		return err_new(ERR_USAGE, "%s must be from %llu to %llu", param->name,
			       (unsigned long long)param->min, (unsigned long long)max);
	return NULL;
}

static struct err *choice_check(const struct param *param, struct param_value *value)
{
	CLEAN(str_deinit) struct str known = { 0 };

	for (unsigned i = 0; param->words[i]; i++) {
		if (strcmp(param->words[i], value->text) == 0) {
			value->number = i;
			return NULL;
		}
		str_printf(&known, "%s%s", i ? ", " : "", param->words[i]);
	}
	return err_new(ERR_USAGE, "%s must be one of %s", param->name, str_text(&known));
}

static struct err *flag_check(const struct param *param, struct param_value *value)
{
	value->number = strcmp(value->text, "0") != 0;
	if (value->number && *value->text && strcmp(value->text, "1") != 0)
		return err_new(ERR_USAGE, "%s is 0 or 1", param->name);
	return NULL;
}

static size_t hash_len(const char *text, uint64_t *hash_ret)
{
	uint64_t hash = 0;
	size_t len = 0;

	for (; hex_value(text[len]) >= 0; len++)
		hash = hash << 4 | (uint64_t)hex_value(text[len]);
	*hash_ret = hash;
	return len <= 16 ? len : 0;
}

static struct err *hash_check(const struct param *param, struct param_value *value)
{
	const size_t len = hash_len(value->text, &value->number);

	if (len == 0 || value->text[len])
		return err_new(ERR_USAGE, "%s must be a hash of 16 hexadecimal digits",
			       param->name);
	return NULL;
}

static struct err *path_check(const struct param *param, struct param_value *value)
{
	uint64_t hash;

	for (const char *at = value->text; *at;) {
		const size_t len = hash_len(at, &hash);

		if (len == 0 || (at[len] && (at[len] != '.' || !at[len + 1])))
			return err_new(ERR_USAGE, "%s must be hashes separated by dots",
				       param->name);
		at += len + (at[len] == '.');
	}
	return NULL;
}

static struct err *value_check(const struct param *param, struct param_value *value)
{
	switch (param->kind) {
	case PARAM_TEXT:
	case PARAM_TEXTS:
		return NULL;
	case PARAM_NUMBER:
		return number_check(param, value);
	case PARAM_CHOICE:
		return choice_check(param, value);
	case PARAM_FLAG:
		return flag_check(param, value);
	case PARAM_FILTER:
		return selection_check(&(struct selection_settings) { .filter = value->text });
	case PARAM_MOMENT:
		return selection_check(&(struct selection_settings) { .from = value->text });
	case PARAM_HASH:
		return hash_check(param, value);
	case PARAM_PATH:
		return path_check(param, value);
	}
	return NULL;
}

/* --- all of them --------------------------------------------------------------------------- */

const struct param_value *params_find(const struct params *params, const char *name)
{
	assert(name);
	assert(params->count <= PARAM_VALUES_MAX);
	for (size_t i = 0; i < params->count; i++) {
		if (strcmp(params->values[i].param->name, name) == 0)
			return &params->values[i];
	}
	return NULL;
}

static struct err *unknown(const struct param *const *known, size_t count, const char *name)
{
	CLEAN(str_deinit) struct str names = { 0 };

	for (size_t i = 0; i < count; i++)
		str_printf(&names, "%s%s", i ? ", " : "", known[i]->name);
	if (count == 0)
		return err_new(ERR_USAGE, "unknown parameter '%.64s'; there are none here", name);
	return err_new(ERR_USAGE, "unknown parameter '%.64s'; expected one of %s", name,
		       str_text(&names));
}

struct err *params_add(struct params *params, const char *name, const char *text)
{
	const struct param *known[PARAMS_MAX], *param = NULL;
	const size_t count = route_params(params->route, known);
	struct param_value value = { .text = text };
	struct err *err;

	assert(text);
	assert(params->count <= PARAM_VALUES_MAX);
	params->wrong = name;
	params->wrong_text = text;
	for (size_t i = 0; i < count && !param; i++)
		param = strcmp(known[i]->name, name) == 0 ? known[i] : NULL;
	if (!param)
		return unknown(known, count, name);
	if (param->kind != PARAM_TEXTS && params_find(params, name))
		return err_new(ERR_USAGE, "%s is given twice", name);
	if (params->count == PARAM_VALUES_MAX)
		return err_new(ERR_USAGE, "more than %u parameters", PARAM_VALUES_MAX);
	value.param = param;
	err = value_check(param, &value);
	if (err)
		return err;
	params->values[params->count++] = value;
	params->wrong = NULL;
	return NULL;
}

static struct err *pair_add(struct params *params, const char *pair, size_t len,
			    struct arena *arena)
{
	const char *equals = memchr(pair, '=', len);
	const size_t name_len = equals ? (size_t)(equals - pair) : len;
	const bool is_lenient = params->route->flags & ROUTE_LENIENT;
	const char *name = params_decode(pair, name_len, is_lenient, arena);
	const char *text = "";

	if (equals)
		text = params_decode(equals + 1, len - name_len - 1, is_lenient, arena);
	if (!name)
		return err_new(ERR_USAGE, "a parameter's name is badly encoded");
	if (strcmp(name, "token") == 0) /* handled by guard */
		return NULL;
	params->wrong = name;
	if (!text)
		return err_new(ERR_USAGE, "%.64s is badly encoded: expected %%XX and UTF-8", name);
	return params_add(params, name, text);
}

struct err *params_complete(struct params *params)
{
	const struct param *known[PARAMS_MAX];
	const size_t count = route_params(params->route, known);

	assert(count <= PARAMS_MAX);
	for (size_t i = 0; i < count; i++) {
		if (!known[i]->is_required || params_find(params, known[i]->name))
			continue;
		params->wrong = known[i]->name;
		return err_new(ERR_USAGE, "missing parameter %s: %s", known[i]->name,
			       known[i]->doc);
	}
	return NULL;
}

struct err *params_parse(const struct route *route, const char *query, size_t query_len,
			 struct arena *arena, struct params *params)
{
	assert(route);
	*params = (struct params) { .route = route };
	while (query_len > 0) {
		const char *end = memchr(query, '&', query_len);
		const size_t len = end ? (size_t)(end - query) : query_len;
		struct err *err = len > 0 ? pair_add(params, query, len, arena) : NULL;

		if (err)
			return err;
		query += end ? len + 1 : len;
		query_len -= end ? len + 1 : len;
	}
	return NULL;
}

void params_canonical(const struct params *params, struct str *out)
{
	const struct param *known[PARAMS_MAX];
	const size_t count = route_params(params->route, known);

	str_add(out, params->route->path);
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < params->count; k++) {
			const struct param_value *value = &params->values[k];

			if (value->param != known[i] || strcmp(known[i]->name, "c") == 0)
				continue;
			/* With its length, so that one text cannot pass as two. */
			str_printf(out, "&%s=%zu:", known[i]->name, strlen(value->text));
			str_add(out, value->text);
		}
	}
}
