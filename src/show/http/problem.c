#include "http/problem.h"

#include <assert.h>

unsigned problem_status(const struct err *err)
{
	assert(err);
	switch (err_code_of(err)) {
	case ERR_USAGE:
		return 400;
	case ERR_NOT_FOUND:
		return 404;
	case ERR_UNSUPPORTED:
		return 501;
	case ERR_STATE:
	case ERR_LIMIT:
		return 503;
	case ERR_SYSTEM:
	case ERR_NOMEM:
	case ERR_FORMAT:
		break;
	}
	return 500;
}

static void text_add(struct str *out, const char *key, const char *text)
{
	str_printf(out, ",\"%s\":", key);
	if (text)
		str_add_json(out, text);
	else
		str_add(out, "null");
}

/* Length of the token there: a word or number, a quoted string, or one character. */
static size_t place_len(const char *text)
{
	size_t len = 0;

	if (*text == '"' || *text == '\'') {
		len = 1 + strcspn(text + 1, *text == '"' ? "\"" : "'");
		return text[len] ? len + 1 : len;
	}
	while ((text[len] >= '0' && text[len] <= '9') || (text[len] >= 'a' && text[len] <= 'z') ||
	       (text[len] >= 'A' && text[len] <= 'Z') || text[len] == '_' || text[len] == '.' ||
	       text[len] == '%')
		len++;
	return len || !*text ? len : str_utf8_bytes(text);
}

static void place_add(struct str *out, const struct problem *problem)
{
	if (!problem->has_place || !problem->value || problem->at > strlen(problem->value)) {
		str_add(out, ",\"pos\":null,\"len\":null");
		return;
	}
	str_printf(out, ",\"pos\":%zu,\"len\":%zu", problem->at,
		   place_len(problem->value + problem->at));
}

void problem_write(const struct problem *problem, struct str *out)
{
	/* `parameter` already says where. */
	const size_t skipped = strncmp(problem->message, "filter: ", 8) == 0 ? 8 : 0;
	const size_t len = strcspn(problem->message + skipped, "\n");
	CLEAN(str_deinit) struct str message = { 0 };

	assert(problem->message);
	str_add_bytes(&message, problem->message + skipped, len);
	out->failed |= message.failed;
	str_add(out, "{\"error\":{\"message\":");
	str_add_json(out, str_text(&message));
	text_add(out, "hint", problem->hint);
	text_add(out, "parameter", problem->parameter);
	place_add(out, problem);
	text_add(out, "suggest", problem->suggest);
	str_add(out, "}}\n");
}
