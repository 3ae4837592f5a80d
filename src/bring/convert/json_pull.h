/*
 * json_pull: a pull parser for JSON, for readers that know the structure:
 *
 *	json_enter(json, '{');
 *	while (json_key(json, &key))
 *		strcmp(str_text(&key), "pid") == 0 ? json_number(json, &pid) : json_skip(json);
 *
 * Anything unexpected makes the parser fail, which sticks: json->why is the reason, later calls
 * find nothing, and the source is at that position. Internal to convert.
 */
#ifndef MEMTAPE_CONVERT_JSON_PULL_H
#define MEMTAPE_CONVERT_JSON_PULL_H

#include "base/str.h"
#include "convert/source.h"

struct json_pull {
	struct source *source;
	const char *why;      /* constant; NULL: no failure */
	const char *at, *end; /* bytes peeked from the source */
	const char *begin;
	bool is_first; /* nothing has been read yet of the innermost container */
};

/* Enters an object or array, which starts with `open`. */
bool json_enter(struct json_pull *json, char open);

/* The next member of an object: its value follows. False: end of the object. */
bool json_key(struct json_pull *json, struct str *key_ret);

/* Whether an array has another element, which follows. False: end of the array. */
bool json_element(struct json_pull *json);

bool json_string(struct json_pull *json, struct str *out);

/* A non-negative integer. */
bool json_number(struct json_pull *json, uint64_t *value_ret);

/* "true" or "false". */
bool json_bool(struct json_pull *json, bool *value_ret);

/* Skips any value. */
bool json_skip(struct json_pull *json);

/* Moves the source to the parser's position. */
void json_settle(struct json_pull *json);

#endif
