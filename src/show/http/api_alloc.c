/*
 * /api/v1/alloc: one allocation: both stacks, what realloc made of it, and what lies next to it.
 */
#include "http/api_rows.h"
#include "space/neighbours.h"

enum { CHAIN_AFTER = 32, CHAIN_MAX = 64, FRAMES_MAX = 1000 };

static uint64_t value_of(const struct model *model, enum model_column column, uint64_t row)
{
	uint64_t value;

	model_rows_gather(model, column, &row, 1, &value);
	return value;
}

/*
 * Rows of its realloc chain in their order, those nearest to it. A chain is known by its last row,
 * from which it goes backwards.
 */
static struct err *chain_find(struct call *call, uint64_t row, uint64_t *rows, size_t *count_ret)
{
	const struct model *model = call->model;
	const uint64_t chain = value_of(model, MODEL_CHAIN, row);
	uint64_t after[CHAIN_AFTER], at = row;
	uint64_t after_count = 0, steps = 0;
	size_t count = 0;
	struct err *err = NULL;

	if (chain != MODEL_NO_CHAIN)
		at = model_chain_get(model, chain).last_row;
	for (; at != row && at != MODEL_NO_ROW && !err; steps++) {
		after[after_count++ % CHAIN_AFTER] = at;
		at = value_of(model, MODEL_REALLOC_OF, at);
		err = steps % MODEL_BATCH == 0 ? call_check(call) : NULL;
	}
	if (err)
		return err;
	for (at = row;
	     at != MODEL_NO_ROW && count < CHAIN_MAX - u64_min(after_count, CHAIN_AFTER);) {
		rows[count++] = at;
		at = value_of(model, MODEL_REALLOC_OF, at);
	}
	for (size_t i = 0; i < count / 2; i++) { /* they were found from the last on */
		const uint64_t other = rows[i];

		rows[i] = rows[count - 1 - i];
		rows[count - 1 - i] = other;
	}
	for (uint64_t i = 0; i < u64_min(after_count, CHAIN_AFTER); i++)
		rows[count++] = after[(after_count - 1 - i) % CHAIN_AFTER];
	*count_ret = count;
	return NULL;
}

struct detail {
	struct call *call;
	struct names *names;
	const struct batch *batch;
	size_t chain_count; /* rows 1 .. of the batch; then the neighbours */
	struct neighbours neighbours;
};

static struct err *detail_find(struct detail *detail, uint64_t row)
{
	struct call *call = detail->call;
	uint64_t *rows = arena_array(call->arena, CHAIN_MAX + 3, sizeof(*rows));
	size_t count;
	struct err *err;

	if (!rows)
		return err_nomem();
	rows[0] = row;
	err = chain_find(call, row, rows + 1, &detail->chain_count);
	if (!err)
		err = neighbours_find(call->model, row, &call->limits, &detail->neighbours);
	if (err)
		return err;
	count = 1 + detail->chain_count;
	if (detail->neighbours.before != MODEL_NO_ROW)
		rows[count++] = detail->neighbours.before;
	if (detail->neighbours.after != MODEL_NO_ROW)
		rows[count++] = detail->neighbours.after;
	return api_rows_read(call, rows, count, &detail->batch);
}

static void neighbours_emit(const struct detail *detail)
{
	struct call *call = detail->call;
	size_t at = 1 + detail->chain_count;

	emit_object(call->emit, "neighbours");
	if (detail->neighbours.before == MODEL_NO_ROW)
		emit_null(call->emit, "before");
	else
		api_row_emit(call, detail->names, "before", detail->batch, at++);
	if (detail->neighbours.after == MODEL_NO_ROW)
		emit_null(call->emit, "after");
	else
		api_row_emit(call, detail->names, "after", detail->batch, at);
	emit_end(call->emit);
}

static void answer(const struct detail *detail)
{
	struct call *call = detail->call;
	const struct batch *batch = detail->batch;
	const uint32_t free_stack = (uint32_t)batch->columns[MODEL_FREE_STACK][0];

	api_row_emit(call, detail->names, "alloc", batch, 0);
	api_stack(call, detail->names, "stack", (uint32_t)batch->columns[MODEL_STACK][0],
		  FRAMES_MAX);
	if (free_stack == CAPTURE_STACK_NONE)
		emit_null(call->emit, "free_stack");
	else
		api_stack(call, detail->names, "free_stack", free_stack, FRAMES_MAX);
	emit_list(call->emit, "chain");
	for (size_t i = 0; i < detail->chain_count; i++)
		api_row_emit(call, detail->names, NULL, batch, 1 + i);
	emit_end(call->emit);
	neighbours_emit(detail);
}

static struct err *run(struct call *call)
{
	struct detail detail = { .call = call };
	const uint64_t row = call_number(call, "row");
	struct err *err = call_names(call, &detail.names);

	if (!err && row >= model_row_count(call->model))
		err = call_blame(call, "row",
				 err_new(ERR_NOT_FOUND, "there is no allocation %llu",
					 (unsigned long long)row));
	if (!err)
		err = detail_find(&detail, row);
	if (!err)
		answer(&detail);
	return err;
}

static const struct param params[] = {
	{ .name = "row",
	  .kind = PARAM_NUMBER,
	  .is_required = true,
	  .doc = "the number of the allocation, as /api/v1/allocs has it" },
};

const struct route route_api_alloc = {
	.path = "/api/v1/alloc",
	.summary = "one allocation: stacks, realloc chain, neighbours in memory",
	.answer = "AllocDetail",
	.flags = ROUTE_TAPE,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
