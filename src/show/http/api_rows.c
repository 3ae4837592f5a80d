#include "http/api_rows.h"

#include <assert.h>

#include "select/batch.h"
#include "sums/walk.h"

struct err *api_rows_read(struct call *call, const uint64_t *rows, size_t count,
			  const struct batch **batch_ret)
{
	struct batch *batch = arena_new(call->arena, struct batch);
	struct facts *facts = arena_new(call->arena, struct facts);
	struct err *err;

	assert(count <= MODEL_BATCH);
	if (!batch || !facts)
		return err_nomem();
	err = facts_init(facts, call->model, NULL, call->arena);
	if (err)
		return err;
	batch_list(batch, facts, rows, count);
	for (int column = 0; column < MODEL_COLUMNS; column++)
		batch_column(batch, (enum model_column)column);
	*batch_ret = batch;
	return NULL;
}

static const struct member row_members[] = {
	MEMBER(struct api_row, row, PLAIN, "its number"),
	MEMBER(struct api_row, address, ADDRESS, NULL),
	MEMBER(struct api_row, size, BYTES, "requested"),
	MEMBER(struct api_row, usable, BYTES, "what the allocator gave"),
	MEMBER(struct api_row, ns, NS, "when it was allocated"),
	MEMBER(struct api_row, thread, PLAIN, "id of the thread"),
	MEMBER(struct api_row, thread_name, TEXT, NULL),
	MEMBER(struct api_row, call, TEXT, "what was called: malloc, realloc ..."),
	MEMBER(struct api_row, pool, TEXT, "of an object of the program's own pools: which",
	       .nullable = true),
	MEMBER(struct api_row, free_ns, NS, "null: never freed", .nullable = true),
	MEMBER(struct api_row, free_thread, PLAIN, "id of the thread that freed it",
	       .nullable = true),
	MEMBER(struct api_row, free_call, TEXT, NULL, .nullable = true),
	MEMBER(struct api_row, function, FLAT, NULL, .shape = &api_shape_function),
	MEMBER(struct api_row, temporary, FLAG, "freed before its thread allocated again"),
	MEMBER(struct api_row, at_peak, FLAG, "alive then"),
	MEMBER(struct api_row, lost_free, FLAG, "freed unseen"),
	MEMBER(struct api_row, chain_length, COUNT, "allocations of its realloc chain"),
	MEMBER(struct api_row, latency_ns, NS, "how long the call took", .nullable = true),
};
const struct shape api_shape_row = SHAPE("Alloc", struct api_row, row_members);

static uint64_t chain_length(const struct model *model, uint64_t chain)
{
	return chain == MODEL_NO_CHAIN ? 1 : model_chain_get(model, chain).length;
}

static uint64_t or_none(uint64_t value, uint64_t none)
{
	return value == none ? SHAPE_NONE : value;
}

struct api_row api_row_of(const struct model *model, struct names *names, const struct batch *batch,
			  size_t i)
{
	const uint64_t flags = batch->columns[MODEL_FLAGS][i];
	const uint64_t free_fn = batch->columns[MODEL_FREE_FN][i];
	const uint64_t free_thread = batch->columns[MODEL_FREE_THREAD][i];
	const uint64_t pool = batch->columns[MODEL_POOL][i];
	const struct model_thread *thread = model_thread(model, batch->columns[MODEL_THREAD][i]);
	struct walk walk =
		walk_begin(model, names, (uint32_t)batch->columns[MODEL_STACK][i], WALK_MY);

	assert(i < batch->count);
	return (struct api_row) {
		.row = batch_row(batch, i),
		.address = batch->columns[MODEL_ADDRESS][i],
		.size = batch->columns[MODEL_SIZE][i],
		.usable = batch->columns[MODEL_USABLE][i],
		.ns = batch->columns[MODEL_ALLOC_NS][i],
		.thread = thread->tid,
		.thread_name = thread->name,
		.call = tape_fn_name((enum tape_fn)batch->columns[MODEL_FN][i]),
		.pool = pool == MODEL_NO_POOL ? NULL : model_pools(model)[pool].name,
		.free_ns = or_none(batch->columns[MODEL_FREE_NS][i], MODEL_NEVER),
		.free_thread = free_thread == MODEL_NO_THREAD
				       ? SHAPE_NONE
				       : model_thread(model, free_thread)->tid,
		.free_call =
			free_fn == TAPE_FN_EXTENDED ? NULL : tape_fn_name((enum tape_fn)free_fn),
		/* a walk returns at least one frame */
		.function = api_function_of(model, names, walk_next(&walk)),
		.temporary = flags & MODEL_ALLOCATION_TEMPORARY,
		.at_peak = flags & MODEL_ALLOCATION_PEAK,
		.lost_free = flags & MODEL_ALLOCATION_LOST_FREE,
		.chain_length = chain_length(model, batch->columns[MODEL_CHAIN][i]),
		.latency_ns = or_none(batch->columns[MODEL_LATENCY][i], MODEL_NEVER),
	};
}

struct err *api_rows_fill(struct call *call, struct names *names, const struct batch *batch,
			  size_t first, size_t count, struct shape_rows *rows)
{
	struct api_row *items = arena_array(call->arena, count, sizeof(*items));

	assert(first + count <= batch->count);
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		items[i] = api_row_of(call->model, names, batch, first + i);
	*rows = (struct shape_rows) { .items = items, .count = count };
	return NULL;
}
