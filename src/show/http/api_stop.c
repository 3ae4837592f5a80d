/*
 * /api/v1/stop: the recording ends, and the program goes on.
 */
#include "http/call.h"
#include "http/server.h"

static struct err *run(struct call *call)
{
	struct control_word word;
	struct err *err = control_stop(call->server->control, &word);

	if (!err)
		emit_u64(call->emit, "tape_bytes", word.tape_bytes, EMIT_BYTES);
	return err;
}

const struct route route_api_stop = {
	.path = "/api/v1/stop",
	.summary = "ends what `memtape record --serve` records, now; the program goes on",
	.answer = "RecordingStopped",
	.flags = ROUTE_POST | ROUTE_UNCACHED,
	.run = run,
};
