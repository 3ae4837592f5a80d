/*
 * /api/v1/my-code/change: patterns that say whose functions are, added to .memtape/config and taken
 * out of it. All tapes are then read again with them.
 */
#include "http/call.h"
#include "http/my_code_source.h"
#include "http/server.h"

static const char *const role_words[] = { "mine", "library", "allocator", NULL };
static const enum name_role roles[] = { NAME_MINE, NAME_LIBRARY, NAME_ALLOCATOR };

static const struct param params[] = {
	{ .name = "role",
	  .kind = PARAM_CHOICE,
	  .words = role_words,
	  .is_required = true,
	  .doc = "whose the functions are" },
	{ .name = "add",
	  .kind = PARAM_TEXT,
	  .doc = "patterns, with commas; they are taken out of other lines",
	  .missing = "none" },
	{ .name = "remove",
	  .kind = PARAM_TEXT,
	  .doc = "patterns of this role, with commas",
	  .missing = "none" },
};

/* The error is about one of the two texts. */
static struct err *blame(struct call *call, const struct my_code_change *change, struct err *err)
{
	struct err *other = change->add ? role_patterns_check(change->add) : NULL;
	const char *name = other ? "add" : "remove";

	err_destroy(other);
	return err_code_of(err) == ERR_USAGE ? call_blame(call, name, err) : err;
}

static struct err *find(struct call *call, void *answer)
{
	const char *path = call->tape->source->path;
	const struct my_code_change change = {
		.role = roles[call_choice(call, "role")],
		.add = call_text(call, "add"),
		.remove = call_text(call, "remove"),
	};
	const struct my_code_source *source;
	struct err *err = server_my_code(call->server, &source);

	if (err)
		return err;
	if (!change.add && !change.remove)
		return call_blame(call, "add", err_new(ERR_USAGE, "expected patterns"));
	err = source->change(source->context, path, &change);
	if (err)
		return blame(call, &change, err);
	tapes_reread(call->server->tapes);
	tapes_settle(call->server->tapes, &call->limits);
	return source->list(source->context, path, call->arena, answer);
}

const struct route route_api_my_code_change = {
	.path = "/api/v1/my-code/change",
	.summary = "changes whose functions are, in .memtape/config",
	.shape = &shape_my_code,
	.flags = ROUTE_POST | ROUTE_TAPE | ROUTE_UNCACHED,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
