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
	const char *text; /* decoded, UTF-8, NUL-terminated; what the user wrote */
	uint64_t number;  /* NUMBER, FLAG, HASH; CHOICE: index */
};

struct params {
	const struct route *route;
	struct param_value values[PARAM_VALUES_MAX];
	size_t count;
	/* The parameter that an error is about, NULL: none of them; see http/problem.h. */
	const char *wrong;
	const char *wrong_text; /* its value, where that was not taken */
};

/*
 * The part of a request's target behind '?', still encoded; "" or NULL is none. ERR_USAGE: a bad
 * encoding, an unknown or doubled parameter, a value that is not what its kind wants. Texts live in
 * the arena.
 */
struct err *params_parse(const struct route *route, const char *query, size_t query_len,
			 struct arena *arena, struct params *params);

/* Adds one value as if it had been in the query; text is kept. Used for {c} and for POST. */
struct err *params_add(struct params *params, const char *name, const char *text);

/* Once all are in: that all required ones are there. */
struct err *params_complete(struct params *params);

const struct param_value *params_find(const struct params *params, const char *name);

/* Equal questions in equal words: the route and all that was given but the tape. */
void params_canonical(const struct params *params, struct str *out);

/*
 * Decodes %XX (and + as a space) in text[0 .. len - 1]; NULL: a bad one, a NUL, not UTF-8. Where
 * percent_is_itself, one without two digits behind it is no bad one, as other servers have it.
 */
char *params_decode(const char *text, size_t len, bool percent_is_itself, struct arena *arena);

#endif
