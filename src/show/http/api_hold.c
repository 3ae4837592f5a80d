/*
 * /api/v1/hold: a tape that is being recorded as it is now, for those who want more than one answer
 * about the same moment.
 */
#include "http/api_tapes.h"
#include "http/call.h"

static const struct param params[] = {
	{ .name = "on",
	  .kind = PARAM_FLAG,
	  .doc = "false: what is held is not needed any more",
	  .fallback = true,
	  .missing = "true" },
};

static struct err *run(struct call *call)
{
	const bool is_on = call_flag(call, "on") && call->gen != 0;

	tapes_hold(call->tape, is_on ? call->loaded : NULL);
	api_tape_emit_reading(call->emit, "tape", call->tape, call->loaded);
	return NULL;
}

const struct route route_api_hold = {
	.path = "/api/v1/hold",
	.summary = "holds a moment of a tape that is being recorded, to be asked for by its `gen`",
	.answer = "TapeHeld",
	.flags = ROUTE_POST | ROUTE_TAPE | ROUTE_UNCACHED,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
