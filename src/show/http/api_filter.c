/*
 * /api/v1/filter: whether a filter is one, and how many allocations it lets through.
 */
#include "http/call.h"

static struct err *run(struct call *call)
{
	const struct selection *selection = NULL;
	struct err *err = call_select(call, &selection);

	if (err)
		return err;
	emit_bool(call->emit, "ok", true);
	emit_u64(call->emit, "count", selection->count, EMIT_COUNT);
	emit_u64(call->emit, "total", model_row_count(call->model), EMIT_COUNT);
	emit_u64(call->emit, "bytes", selection->sums.total.allocated.bytes, EMIT_BYTES);
	return NULL;
}

const struct route route_api_filter = {
	.path = "/api/v1/filter",
	.summary = "whether a filter is one, and how many allocations it lets through",
	.answer = "Filter",
	.flags = ROUTE_SELECTS,
	.run = run,
};
