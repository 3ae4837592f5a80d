/*
 * /api/v1/hold: holds the current state of a tape being recorded, for clients that need several
 * answers about the same moment.
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

struct held {
	struct api_tape tape;
};

static const struct member held_members[] = {
	MEMBER(struct held, tape, OBJECT, "as it is held", .shape = &api_shape_tape),
};
static const struct shape shape_held = SHAPE("TapeHeld", struct held, held_members);

static struct err *find(struct call *call, void *answer)
{
	const bool is_on = call_flag(call, "on") && call->gen != 0;
	struct held *held = answer;

	tapes_hold(call->tape, is_on ? call->loaded : NULL);
	return api_tape_fill(call->tape, call->loaded, call->arena, &held->tape);
}

const struct route route_api_hold = {
	.path = "/api/v1/hold",
	.summary = "holds a moment of a tape that is being recorded; requests name it by its `gen`",
	.shape = &shape_held,
	.flags = ROUTE_POST | ROUTE_TAPE | ROUTE_UNCACHED,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
