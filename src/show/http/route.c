#include "http/route.h"

#include <assert.h>

#include "groups/groups.h"

static const struct param tape_param = {
	.name = "c",
	.kind = PARAM_TEXT,
	.doc = "the tape: its id (32 hexadecimal digits), or `last` for the one named last",
	.missing = "last",
};

static const struct param gen_param = {
	.name = "gen",
	.kind = PARAM_NUMBER,
	.doc = "the moment of a tape that is being recorded which is held (/hold), by the `gen` of "
	       "its answers; one that is not is now",
	.missing = "now",
};

static const struct param part_params[] = {
	{ .name = "q",
	  .kind = PARAM_FILTER,
	  .doc = "only allocations of which this filter is true (memtape-filter(7))" },
	{ .name = "from",
	  .kind = PARAM_MOMENT,
	  .doc = "only what was allocated at this moment or later",
	  .missing = "start" },
	{ .name = "until",
	  .kind = PARAM_MOMENT,
	  .doc = "only what was allocated at this moment or earlier",
	  .missing = "end" },
};

/* By enum parameter_id. Parts of the tape are selected as in every route (part_params). */
static const struct param question_params[PARAMETER_COUNT] = {
#define PARAMETER(field, option, letter, arg, param, questions, text, choices, most, usual)        \
	[PARAMETER_##field] = { .name = option,                                                    \
				.kind = PARAM_##param,                                             \
				.doc = text,                                                       \
				.words = choices,                                                  \
				.max = most,                                                       \
				.fallback = usual,                                                 \
				.has_place = true,                                                 \
				.place = offsetof(struct parameters, field) },
#define OPERAND(field, option, arg, param, text)                                                   \
	[PARAMETER_##field] = { .name = option,                                                    \
				.kind = PARAM_##param,                                             \
				.is_required = true,                                               \
				.doc = text,                                                       \
				.has_place = true,                                                 \
				.place = offsetof(struct parameters, field) },
#include "answer/parameters.def"
#undef PARAMETER
#undef OPERAND
};

static const uint64_t part_taken = TAKES(filter) | TAKES(from) | TAKES(until);

const char *route_summary(const struct route *route)
{
	assert(!route->question || !route->summary);
	return route->question ? route->question->summary : route->summary;
}

const struct shape *route_shape(const struct route *route)
{
	assert(!route->question || !route->shape);
	return route->question ? route->question->shape : route->shape;
}

unsigned route_flags(const struct route *route)
{
	const struct question *question = route->question;

	assert(!question || !(route->flags & (ROUTE_RAW | ROUTE_STREAM)));
	if (!question)
		return route->flags;
	return route->flags | (question->selects ? ROUTE_SELECTS : 0) |
	       (question->is_patient ? ROUTE_PATIENT : 0);
}

size_t route_params(const struct route *route, const struct param **params_ret)
{
	size_t count = 0;

	if (route_flags(route) & (ROUTE_TAPE | ROUTE_SELECTS)) {
		params_ret[count++] = &tape_param;
		params_ret[count++] = &gen_param;
	}
	for (size_t i = 0; i < array_size(part_params); i++) {
		const bool is_time = part_params[i].kind == PARAM_MOMENT;

		if (route_flags(route) & ROUTE_SELECTS ||
		    (is_time && route->question && route->question->has_window))
			params_ret[count++] = &part_params[i];
	}
	for (size_t i = 0; route->question && i < PARAMETER_COUNT; i++)
		if ((question_takes(route->question) & ~part_taken) >> i & 1)
			params_ret[count++] = &question_params[i];
	assert(count + route->param_count <= PARAMS_MAX);
	for (size_t i = 0; i < route->param_count; i++)
		params_ret[count++] = &route->params[i];
	assert(count <= PARAMS_MAX);
	return count;
}

/* Length of the path component that begins here, up to a slash or the end. */
static size_t part_len(const char *path, size_t len)
{
	const char *slash = memchr(path, '/', len);

	return slash ? (size_t)(slash - path) : len;
}

static bool path_fits(const char *pattern, const char *path, size_t len, const char **id_ret,
		      size_t *id_len_ret)
{
	size_t wanted_len = strlen(pattern);

	*id_ret = NULL;
	*id_len_ret = 0;
	for (;;) {
		const size_t wanted = part_len(pattern, wanted_len), part = part_len(path, len);

		if (wanted == 3 && memcmp(pattern, "{c}", 3) == 0 && part > 0) {
			*id_ret = path;
			*id_len_ret = part;
		} else if (wanted != part || memcmp(pattern, path, part) != 0) {
			return false;
		}
		if (wanted == wanted_len || part == len)
			return wanted == wanted_len && part == len;
		pattern += wanted + 1;
		wanted_len -= wanted + 1;
		path += part + 1;
		len -= part + 1;
	}
}

const struct route *route_find(const char *path, size_t path_len, const char **id_ret,
			       size_t *id_len_ret)
{
	assert(path || path_len == 0);
	for (const struct route *const *at = route_table; *at; at++) {
		if (path_fits((*at)->path, path, path_len, id_ret, id_len_ret))
			return *at;
	}
	return NULL;
}
