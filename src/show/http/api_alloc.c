/*
 * /api/v1/alloc: one allocation: both stacks, its realloc chain, and its neighbours in memory.
 */
#include "http/api_rows.h"
#include "space/neighbours.h"

enum { CHAIN_AFTER = 32, CHAIN_MAX = 64, FRAMES_MAX = 1000 };

/*
 * Rows of its realloc chain in order, those nearest to it. A chain is identified by its last row
 * and followed backwards.
 */
static struct err *chain_find(struct call *call, uint64_t row, uint64_t *rows, size_t *count_ret)
{
	const struct model *model = call->model;
	const uint64_t chain = model_row_value(model, MODEL_CHAIN, row);
	uint64_t after[CHAIN_AFTER], at = row;
	uint64_t after_count = 0, steps = 0;
	size_t count = 0;
	struct err *err = NULL;

	if (chain != MODEL_NO_CHAIN)
		at = model_chain_get(model, chain).last_row;
	for (; at != row && at != MODEL_NO_ROW && !err; steps++) {
		after[after_count++ % CHAIN_AFTER] = at;
		at = model_row_value(model, MODEL_REALLOC_OF, at);
		err = steps % MODEL_BATCH == 0 ? call_check(call) : NULL;
	}
	if (err)
		return err;
	for (at = row;
	     at != MODEL_NO_ROW && count < CHAIN_MAX - u64_min(after_count, CHAIN_AFTER);) {
		rows[count++] = at;
		at = model_row_value(model, MODEL_REALLOC_OF, at);
	}
	for (size_t i = 0; i < count / 2; i++) { /* they were found last to first */
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

struct neighbours_answer {
	const struct api_row *before, *after;
};

struct alloc {
	struct api_row alloc;
	uint32_t stack, free_stack;
	struct shape_rows chain;
	struct neighbours_answer neighbours;
};

static const struct member neighbours_members[] = {
	MEMBER(struct neighbours_answer, before, OBJECT, NULL, .shape = &api_shape_row,
	       .nullable = true),
	MEMBER(struct neighbours_answer, after, OBJECT, NULL, .shape = &api_shape_row,
	       .nullable = true),
};
static const struct shape shape_neighbours =
	SHAPE("Neighbours", struct neighbours_answer, neighbours_members);

static const struct member alloc_members[] = {
	MEMBER(struct alloc, alloc, OBJECT, NULL, .shape = &api_shape_row),
	MEMBER(struct alloc, stack, FRAMES, "innermost first", .frames_max = FRAMES_MAX),
	MEMBER(struct alloc, free_stack, FRAMES, "of its free; null: not known",
	       .frames_max = FRAMES_MAX, .nullable = true),
	MEMBER(struct alloc, chain, ROWS, "its realloc chain, at most 64 around it",
	       .shape = &api_shape_row),
	MEMBER(struct alloc, neighbours, OBJECT, "alive at the same time, next in memory",
	       .shape = &shape_neighbours),
};
static const struct shape shape_alloc = SHAPE("AllocDetail", struct alloc, alloc_members);

static struct err *neighbour_fill(const struct detail *detail, uint64_t row, size_t at,
				  const struct api_row **row_ret)
{
	struct api_row *neighbour;

	if (row == MODEL_NO_ROW)
		return NULL;
	neighbour = arena_new(detail->call->arena, struct api_row);
	if (!neighbour)
		return err_nomem();
	*neighbour = api_row_of(detail->call->model, detail->names, detail->batch, at);
	*row_ret = neighbour;
	return NULL;
}

static struct err *alloc_fill(const struct detail *detail, struct alloc *alloc)
{
	const struct batch *batch = detail->batch;
	const size_t first = 1 + detail->chain_count;
	const bool has_before = detail->neighbours.before != MODEL_NO_ROW;
	struct err *err;

	alloc->alloc = api_row_of(detail->call->model, detail->names, batch, 0);
	alloc->stack = (uint32_t)batch->columns[MODEL_STACK][0];
	alloc->free_stack = (uint32_t)batch->columns[MODEL_FREE_STACK][0];
	err = api_rows_fill(detail->call, detail->names, batch, 1, detail->chain_count,
			    &alloc->chain);
	if (!err)
		err = neighbour_fill(detail, detail->neighbours.before, first,
				     &alloc->neighbours.before);
	return err ? err
		   : neighbour_fill(detail, detail->neighbours.after, first + has_before,
				    &alloc->neighbours.after);
}

static struct err *find(struct call *call, void *answer)
{
	struct detail detail = { .call = call };
	const uint64_t row = call_number(call, "row");
	struct err *err = call_names(call, &detail.names);

	if (!err && row >= model_row_count(call->model))
		err = call_blame(
			call, "row",
			err_new(ERR_NOT_FOUND, "no allocation %llu", (unsigned long long)row));
	if (!err)
		err = detail_find(&detail, row);
	return err ? err : alloc_fill(&detail, answer);
}

static const struct param params[] = {
	{ .name = "row",
	  .kind = PARAM_NUMBER,
	  .is_required = true,
	  .doc = "the number of the allocation, as /api/v1/allocs has it" },
	{ .name = "q",
	  .kind = PARAM_FILTER,
	  .doc = "the filter with which /api/v1/allocs was asked: objects of pools have numbers of "
		 "their own" },
};

const struct route route_api_alloc = {
	.path = "/api/v1/alloc",
	.summary = "one allocation: stacks, realloc chain, neighbours in memory",
	.shape = &shape_alloc,
	.flags = ROUTE_TAPE,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
