/*
 * /api/v1/mark: a mark on the tape that is being recorded, now.
 */
#include "http/call.h"
#include "http/server.h"

static const struct param params[] = {
	{ .name = "text",
	  .kind = PARAM_TEXT,
	  .is_required = true,
	  .doc = "the mark's name, one line of 1 to 255 bytes" },
};

static struct err *run(struct call *call)
{
	const char *text = call_text(call, "text");
	struct err *err = control_mark(call->server->control, text);

	if (err && err_code_of(err) == ERR_USAGE)
		return call_blame(call, "text", err);
	if (!err)
		emit_text(call->emit, "text", text);
	return err;
}

const struct route route_api_mark = {
	.path = "/api/v1/mark",
	.summary = "a mark on the tape that `memtape record --serve` records, now",
	.answer = "MarkMade",
	.flags = ROUTE_POST | ROUTE_UNCACHED,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
