/*
 * /api/v1/mark: sets a mark on the tape being recorded, now.
 */
#include "http/call.h"
#include "http/server.h"

static const struct param params[] = {
	{ .name = "text",
	  .kind = PARAM_TEXT,
	  .is_required = true,
	  .doc = "the mark's name, one line of 1 to 255 bytes" },
};

struct mark_made {
	const char *text;
};

static const struct member mark_members[] = {
	MEMBER(struct mark_made, text, TEXT, "the mark's name"),
};
static const struct shape shape_mark = SHAPE("MarkMade", struct mark_made, mark_members);

static struct err *find(struct call *call, void *answer)
{
	const char *text = call_text(call, "text");
	struct err *err = control_mark(server_control(call->server), text);

	if (err && err_code_of(err) == ERR_USAGE)
		return call_blame(call, "text", err);
	((struct mark_made *)answer)->text = text;
	return err;
}

const struct route route_api_mark = {
	.path = "/api/v1/mark",
	.summary = "a mark on the tape that `memtape record --serve` records, now",
	.shape = &shape_mark,
	.flags = ROUTE_POST | ROUTE_UNCACHED,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
