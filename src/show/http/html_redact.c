#include "http/html_redact.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

struct cursor {
	const char *at;
	const char *end;
};

static bool is_path_char(char c)
{
	return isalnum((unsigned char)c) || strchr("/._-+~", c) || (unsigned char)c >= 0x80;
}

/* Whether a path may begin here: also after a newline or tab, which are escaped. */
static bool begins_path(const char *text, const char *at)
{
	if (*at != '/')
		return false;
	return at == text || !is_path_char(at[-1]) ||
	       (at - text >= 2 && at[-2] == '\\' && strchr("nt", at[-1]));
}

/* How many bytes at `at` are the folder; 0: it is another one. */
static size_t folder_bytes(const char *at, const char *end, const char *folder)
{
	const size_t len = folder ? strlen(folder) : 0;

	if (len < 2 || (size_t)(end - at) < len || memcmp(at, folder, len) != 0)
		return 0;
	return at + len == end || at[len] == '/' || !is_path_char(at[len]) ? len : 0;
}

/* The same for "/home/NAME". */
static size_t user_bytes(const char *at, const char *end, const char *parent)
{
	const size_t parent_bytes = folder_bytes(at, end, parent);
	const char *name = at + parent_bytes + 1;
	const char *stop = name;

	if (!parent_bytes || name >= end || name[-1] != '/')
		return 0;
	while (stop < end && *stop != '/' && is_path_char(*stop))
		stop++;
	return stop > name ? (size_t)(stop - at) : 0;
}

static size_t home_bytes(const struct redaction *redaction, const char *at, const char *end)
{
	static const char *const parents[] = { "/home", "/Users", "/var/home" };
	size_t bytes = folder_bytes(at, end, redaction->home);

	if (!bytes)
		bytes = folder_bytes(at, end, "/root");
	for (size_t i = 0; !bytes && i < array_size(parents); i++)
		bytes = user_bytes(at, end, parents[i]);
	return bytes;
}

static void add_shortened(const struct redaction *redaction, const char *text, const char *end,
			  struct str *out)
{
	const char *slash = redaction->build ? strrchr(redaction->build, '/') : NULL;

	for (const char *at = text; at < end;) {
		const bool is_path = begins_path(text, at);
		const size_t build = is_path ? folder_bytes(at, end, redaction->build) : 0;
		const size_t home = is_path && !build ? home_bytes(redaction, at, end) : 0;

		if (build)
			str_add(out, slash + 1);
		else if (home)
			str_add_char(out, '~');
		else
			str_add_char(out, *at);
		at += build + home ? build + home : 1;
	}
}

/* Position after the closing quote. */
static const char *string_end(const struct cursor *cursor)
{
	const char *at = cursor->at + 1;

	while (at < cursor->end && *at != '"')
		at += *at == '\\' ? 2 : 1;
	return at < cursor->end ? at + 1 : cursor->end;
}

/* A list of strings and numbers. */
static void skip_list(struct cursor *cursor)
{
	while (cursor->at < cursor->end && *cursor->at != ']')
		cursor->at = *cursor->at == '"' ? string_end(cursor) : cursor->at + 1;
	if (cursor->at < cursor->end)
		cursor->at++;
}

static bool is_key(const char *text, const char *end, const char *key)
{
	const size_t len = strlen(key);

	return (size_t)(end - text) == len && memcmp(text, key, len) == 0;
}

static void member_add(const struct redaction *redaction, struct cursor *cursor, struct str *out)
{
	const char *begin = cursor->at, *end = string_end(cursor);
	const bool is_name = end < cursor->end && *end == ':';

	cursor->at = end;
	if (!is_name) {
		add_shortened(redaction, begin, end, out);
		return;
	}
	str_add_bytes(out, begin, (size_t)(end - begin));
	if (!redaction->keeps_argv && is_key(begin, end, "\"argv\"") && end[1] == '[') {
		skip_list(cursor);
		str_add(out, ":[]");
	} else if (is_key(begin, end, "\"ms\"")) { /* duration of the answer: differs each time */
		cursor->at = end + 1;
		while (cursor->at < cursor->end && strchr("0123456789.", *cursor->at))
			cursor->at++;
		str_add(out, ":0");
	}
}

void html_redact(const struct redaction *redaction, const char *json, size_t len, struct str *out)
{
	struct cursor cursor = { json, json + len };

	assert(json || len == 0);
	while (cursor.at < cursor.end) {
		if (*cursor.at == '"')
			member_add(redaction, &cursor, out);
		else
			str_add_char(out, *cursor.at++);
	}
}
