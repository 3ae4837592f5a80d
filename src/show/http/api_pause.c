/*
 * /api/v1/pause: pauses the recording, or resumes it; the program goes on.
 */
#include "http/call.h"
#include "http/server.h"

static const struct param params[] = {
	{ .name = "on",
	  .kind = PARAM_FLAG,
	  .doc = "false: allocations are recorded again",
	  .fallback = true,
	  .missing = "true" },
};

struct recording_paused {
	bool paused, changed;
};

static const struct member paused_members[] = {
	MEMBER(struct recording_paused, paused, FLAG, "from now on"),
	MEMBER(struct recording_paused, changed, FLAG, "false: it was so already"),
};
static const struct shape shape_paused =
	SHAPE("RecordingPaused", struct recording_paused, paused_members);

static struct err *find(struct call *call, void *answer)
{
	struct recording_paused *paused = answer;

	paused->paused = call_flag(call, "on");
	return control_pause(server_control(call->server), paused->paused, &paused->changed);
}

const struct route route_api_pause = {
	.path = "/api/v1/pause",
	.summary = "pauses what `memtape record --serve` records, or resumes it",
	.shape = &shape_paused,
	.flags = ROUTE_POST | ROUTE_UNCACHED,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
