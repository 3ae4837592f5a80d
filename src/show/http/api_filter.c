/*
 * /api/v1/filter: whether a filter is valid, and how many allocations match it.
 */
#include "http/call.h"

struct filter_check {
	bool ok;
	uint64_t count, total, bytes;
};

static const struct member filter_members[] = {
	MEMBER(struct filter_check, ok, FLAG, "true; what is wrong with a filter is an error"),
	MEMBER(struct filter_check, count, COUNT, "allocations it lets through"),
	MEMBER(struct filter_check, total, COUNT, "allocations there are"),
	MEMBER(struct filter_check, bytes, BYTES, "of those it lets through"),
};
static const struct shape shape_filter = SHAPE("FilterCheck", struct filter_check, filter_members);

static struct err *find(struct call *call, void *answer)
{
	const struct selection *selection = NULL;
	struct err *err = call_select(call, &selection);

	if (err)
		return err;
	*(struct filter_check *)answer = (struct filter_check) {
		.ok = true,
		.count = selection->count,
		.total = model_row_count(call->model),
		.bytes = selection->sums.total.allocated.bytes,
	};
	return NULL;
}

const struct route route_api_filter = {
	.path = "/api/v1/filter",
	.summary = "whether a filter is one, and how many allocations it lets through",
	.shape = &shape_filter,
	.flags = ROUTE_SELECTS,
	.find = find,
};
