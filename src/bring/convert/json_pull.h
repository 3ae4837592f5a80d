/*
 * json_pull: JSON read from a source piece by piece, by those who know what they look for:
 *
 *	json_enter(json, '{');
 *	while (json_key(json, &key))
 *		strcmp(str_text(&key), "pid") == 0 ? json_number(json, &pid) : json_skip(json);
 *
 * What is not as it was asked for makes the reading fail, which sticks: json->why says it, later
 * questions find nothing, and the source stands at the place. Internal to convert.
 */
#ifndef MEMTAPE_CONVERT_JSON_PULL_H
#define MEMTAPE_CONVERT_JSON_PULL_H

#include "base/str.h"
#include "convert/source.h"

struct json_pull {
	struct source *source;
	const char *why;      /* constant; NULL: it has not failed */
	const char *at, *end; /* what the source has shown */
	const char *begin;
	bool is_first; /* nothing was read yet of what was entered last */
};

/* Into an object or a list, which begins so. */
bool json_enter(struct json_pull *json, char open);

/* The next member of an object: what follows is its value. False: the object ended. */
bool json_key(struct json_pull *json, struct str *key_ret);

/* Whether a list goes on: what follows is an element. False: it ended. */
bool json_element(struct json_pull *json);

bool json_string(struct json_pull *json, struct str *out);

/* A whole number that is not below 0. */
bool json_number(struct json_pull *json, uint64_t *value_ret);

/* "true" or "false". */
bool json_bool(struct json_pull *json, bool *value_ret);

/* Past any value. */
bool json_skip(struct json_pull *json);

/* Puts the source where reading stands. */
void json_settle(struct json_pull *json);

#endif
