#include "core/glob.h"

#include "core/poison.h"

/* The end of a set, after its ']'; at: after its '['. NULL: it is not closed. */
static const char *set_end(const char *at, const char *end)
{
	if (at < end && (*at == '!' || *at == '^'))
		at++;
	if (at < end && *at == ']') /* as the first character, it is a member */
		at++;
	while (at < end && *at != ']')
		at++;
	return at < end ? at + 1 : NULL;
}

/* end: its ']'. */
static bool set_has(const char *at, const char *end, unsigned char c)
{
	const bool is_negated = *at == '!' || *at == '^';
	bool is_found = false;

	for (at += is_negated; at < end; at++) {
		const unsigned char low = (unsigned char)*at;
		unsigned char high = low;

		if (end - at > 2 && at[1] == '-') {
			high = (unsigned char)at[2];
			at += 2;
		}
		is_found |= low <= c && c <= high;
	}
	return is_found != is_negated;
}

/* After the pattern element that matches this one character; NULL: it does not match. */
static const char *match_one(const char *pattern, const char *end, char c)
{
	const char *behind;

	if (pattern == end)
		return NULL;
	if (*pattern == '?')
		return pattern + 1;
	behind = *pattern == '[' ? set_end(pattern + 1, end) : NULL;
	if (behind)
		return set_has(pattern + 1, behind - 1, (unsigned char)c) ? behind : NULL;
	return *pattern == c ? pattern + 1 : NULL;
}

bool glob_matches(const char *pattern, size_t len, const char *name)
{
	const char *const end = pattern + len;
	const char *star = NULL;  /* after the last '*' */
	const char *retry = NULL; /* where matching of the rest was last started */

	CHECK(pattern || len == 0);
	while (*name) {
		const char *next;

		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			retry = name;
			continue;
		}
		next = match_one(pattern, end, *name);
		if (next) {
			pattern = next;
			name++;
			continue;
		}
		if (!star)
			return false;
		pattern = star;
		name = ++retry;
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

bool glob_list_matches(const char *list, const char *name)
{
	for (;;) {
		const char *comma = strchr(list, ',');
		const size_t len = comma ? (size_t)(comma - list) : strlen(list);

		if (len > 0 && glob_matches(list, len, name))
			return true;
		if (!comma)
			return false;
		list = comma + 1;
	}
}
