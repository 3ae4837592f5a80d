/*
 * /api/v1/stop: ends the recording; the program goes on.
 */
#include "http/call.h"
#include "http/server.h"

struct recording_stopped {
	uint64_t tape_bytes;
};

static const struct member stop_members[] = {
	MEMBER(struct recording_stopped, tape_bytes, BYTES, "what the tape has now"),
};
static const struct shape shape_stop =
	SHAPE("RecordingStopped", struct recording_stopped, stop_members);

static struct err *find(struct call *call, void *answer)
{
	struct recording_stopped *stopped = answer;
	struct control_word word;
	struct err *err = control_stop(server_control(call->server), &word);

	if (!err)
		stopped->tape_bytes = word.tape_bytes;
	return err;
}

const struct route route_api_stop = {
	.path = "/api/v1/stop",
	.summary = "ends what `memtape record --serve` records, now; the program goes on",
	.shape = &shape_stop,
	.flags = ROUTE_POST | ROUTE_UNCACHED,
	.find = find,
};
