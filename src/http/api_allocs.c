/*
 * /api/v1/allocs: allocations, a page of any list of them.
 */
#include "http/api_rows.h"

static struct err *order_find(struct call *call, struct selection_order *order_ret)
{
	const char *sort = call_text(call, "sort");
	struct selection_order order = { 0 };
	struct err *err = sort && *sort ? selection_order_parse(sort, &order) : NULL;

	if (err)
		return call_blame(call, "sort", err);
	if (call_has(call, "order"))
		order.is_descending = call_choice(call, "order") == 1;
	*order_ret = order;
	return NULL;
}

static struct err *run(struct call *call)
{
	const struct selection *selection;
	const struct batch *batch = NULL;
	struct selection_order order;
	const uint64_t *rows;
	uint64_t count = 0;
	struct err *err = order_find(call, &order);

	if (!err)
		err = api_select(call, &selection);
	if (!err)
		err = selection_page(selection, &order, call_number(call, "off"),
				     call_number(call, "n"), call->arena, &rows, &count);
	if (!err)
		err = api_rows_read(call, rows, count, &batch);
	if (err)
		return err;
	emit_u64(call->emit, "count", selection->count, EMIT_COUNT);
	emit_list(call->emit, "rows");
	for (size_t i = 0; i < count; i++)
		api_row_emit(call, selection->names, NULL, batch, i);
	emit_end(call->emit);
	return NULL;
}

static const struct param params[] = {
	{ .name = "sort",
	  .kind = PARAM_TEXT,
	  .doc = "a field of the filter language by which rows are in order",
	  .missing = "time" },
	API_PARAM_ORDER,
	API_PARAM_OFF,
	API_PARAM_N,
};

const struct route route_api_allocs = {
	.path = "/api/v1/allocs",
	.summary = "a page of the list of allocations",
	.answer = "Allocs",
	.flags = ROUTE_TAPE | ROUTE_SELECTS,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
