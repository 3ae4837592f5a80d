#include "http/problem.h"

unsigned problem_status(const struct err *err)
{
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

void problem_write(const struct problem *problem, struct str *out)
{
	const size_t len = strcspn(problem->message, "\n");
	CLEAN(str_deinit) struct str message = { 0 };

	str_add_bytes(&message, problem->message, len);
	str_add(out, "{\"error\":{\"message\":");
	str_add_json(out, str_text(&message));
	text_add(out, "hint", problem->hint);
	text_add(out, "parameter", problem->parameter);
	str_add(out, ",\"pos\":null,\"len\":null,\"suggest\":null}}\n");
}
