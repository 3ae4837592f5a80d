/*
 * params: the values of a request's parameters, checked against the route's table.
 */
#ifndef MEMTAPE_HTTP_PARAMS_H
#define MEMTAPE_HTTP_PARAMS_H

#include "base/arena.h"
#include "base/str.h"
#include "http/route.h"

struct param_value {
	const struct param *param;
	const char *text; /* decoded, UTF-8, NUL-terminated; as the user wrote it */
	uint64_t number;  /* NUMBER, FLAG, HASH; CHOICE: index */
};

struct params {
	const struct route *route;
	struct param_value values[PARAM_VALUES_MAX];
	size_t count;
	/* The parameter that an error is about, NULL: none; see http/problem.h. */
	const char *wrong;
	const char *wrong_text; /* its value, if it was rejected */
};

/*
 * The part of a request's target after '?', still encoded; "" or NULL is none. ERR_USAGE: a bad
 * encoding, an unknown or repeated parameter, a value invalid for its kind. Strings live in the
 * arena.
 */
struct err *params_parse(const struct route *route, const char *query, size_t query_len,
			 struct arena *arena, struct params *params);

/* Adds one value as if it were in the query; text is kept. Used for {c} and for POST. */
struct err *params_add(struct params *params, const char *name, const char *text);

/* Checks, once all are added, that all required ones are there. */
struct err *params_complete(struct params *params);

const struct param_value *params_find(const struct params *params, const char *name);

/* Canonical form, equal for equal requests: the route and everything given except the tape. */
void params_canonical(const struct params *params, struct str *out);

/*
 * Decodes %XX (and + as a space) in text[0 .. len - 1]; NULL: invalid encoding, a NUL, not UTF-8.
 * With percent_is_itself, a percent sign without two digits after it is literal, as in other
 * servers.
 */
char *params_decode(const char *text, size_t len, bool percent_is_itself, struct arena *arena);

#endif
