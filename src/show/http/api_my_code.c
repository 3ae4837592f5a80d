/*
 * /api/v1/my-code: whose functions are: the patterns in force for a tape, and where each is from.
 */
#include "http/call.h"
#include "http/my_code_source.h"
#include "http/server.h"

static const char *const from_words[] = { "option", "config", "built-in", NULL };
static const char *const role_words[] = { "mine", "library", "allocator", "start", NULL };

static const struct member pattern_members[] = {
	MEMBER(struct my_code_pattern, role, TEXT,
	       "whose it is: allocator: it allocates for its callers; start: it starts programs "
	       "and threads",
	       .words = role_words),
	MEMBER(struct my_code_pattern, pattern, TEXT, "as in --my"),
	MEMBER(struct my_code_pattern, from, TEXT, "where it is said", .words = from_words),
	MEMBER(struct my_code_pattern, of, TEXT,
	       "what is compared, of what is built in: function, source or module",
	       .nullable = true),
	MEMBER(struct my_code_pattern, line, PLAIN, "of the file, from 1; 0: not from there"),
};
static const struct shape shape_pattern =
	SHAPE("MyCodePattern", struct my_code_pattern, pattern_members);

static const struct member my_code_members[] = {
	MEMBER(struct my_code, config, TEXT, "the file, or where it would be made"),
	MEMBER(struct my_code, exists, FLAG, "whether it is there"),
	MEMBER(struct my_code, refusal, TEXT, "why this server does not change it",
	       .nullable = true),
	MEMBER(struct my_code, patterns, ROWS,
	       "those of options, then of the file: the first that matches decides; then what is "
	       "built in",
	       .shape = &shape_pattern),
};
const struct shape shape_my_code = SHAPE("MyCode", struct my_code, my_code_members);

struct err *server_my_code(const struct server *server, const struct my_code_source **source_ret)
{
	*source_ret = server->my_code;
	return server->my_code ? NULL : err_new(ERR_UNSUPPORTED, "this server has no options");
}

static struct err *find(struct call *call, void *answer)
{
	const struct my_code_source *source;
	struct err *err = server_my_code(call->server, &source);

	return err ? err
		   : source->list(source->context, call->tape->source->path, call->arena, answer);
}

const struct route route_api_my_code = {
	.path = "/api/v1/my-code",
	.summary = "whose functions are: the patterns in force, and where each is from",
	.shape = &shape_my_code,
	.flags = ROUTE_TAPE | ROUTE_UNCACHED,
	.find = find,
};
