#include "http/api_rows.h"

#include "select/batch.h"
#include "sums/walk.h"

struct err *api_rows_read(struct call *call, const uint64_t *rows, size_t count,
			  const struct batch **batch_ret)
{
	struct batch *batch = arena_new(call->arena, struct batch);
	struct facts *facts = arena_new(call->arena, struct facts);
	struct err *err;

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

static void thread_emit(struct call *call, const char *key, uint64_t thread)
{
	if (thread == MODEL_NO_THREAD)
		emit_null(call->emit, key);
	else
		emit_u64(call->emit, key, model_thread(call->model, thread)->tid, EMIT_PLAIN);
}

static uint64_t chain_length(const struct model *model, uint64_t chain)
{
	return chain == MODEL_NO_CHAIN ? 1 : model_chain_get(model, chain).length;
}

static void free_emit(struct call *call, const struct batch *batch, size_t i)
{
	const uint64_t free_fn = batch->columns[MODEL_FREE_FN][i];

	json_u64_or_null(call->emit, "free_ns", batch->columns[MODEL_FREE_NS][i], MODEL_NEVER);
	thread_emit(call, "free_thread", batch->columns[MODEL_FREE_THREAD][i]);
	emit_text(call->emit, "free_call",
		  free_fn == TAPE_FN_EXTENDED ? NULL : tape_fn_name((enum tape_fn)free_fn));
}

void api_row_emit(struct call *call, struct names *names, const char *key,
		  const struct batch *batch, size_t i)
{
	struct emit *emit = call->emit;
	const uint64_t flags = batch->columns[MODEL_FLAGS][i];
	const struct model_thread *thread =
		model_thread(call->model, batch->columns[MODEL_THREAD][i]);
	struct walk walk =
		walk_begin(call->model, names, (uint32_t)batch->columns[MODEL_STACK][i], WALK_FOLD);

	emit_object(emit, key);
	emit_u64(emit, "row", batch_row(batch, i), EMIT_PLAIN);
	emit_address(emit, "address", batch->columns[MODEL_ADDRESS][i]);
	emit_u64(emit, "size", batch->columns[MODEL_SIZE][i], EMIT_BYTES);
	emit_u64(emit, "usable", batch->columns[MODEL_USABLE][i], EMIT_BYTES);
	emit_u64(emit, "ns", batch->columns[MODEL_ALLOC_NS][i], EMIT_DURATION);
	emit_u64(emit, "thread", thread->tid, EMIT_PLAIN);
	emit_text(emit, "thread_name", thread->name);
	emit_text(emit, "call", tape_fn_name((enum tape_fn)batch->columns[MODEL_FN][i]));
	free_emit(call, batch, i);
	api_function(call, names, walk_next(&walk)); /* a walk gives one frame at least */
	emit_bool(emit, "temporary", flags & MODEL_ALLOCATION_TEMPORARY);
	emit_bool(emit, "at_peak", flags & MODEL_ALLOCATION_PEAK);
	emit_bool(emit, "lost_free", flags & MODEL_ALLOCATION_LOST_FREE);
	emit_u64(emit, "chain_length", chain_length(call->model, batch->columns[MODEL_CHAIN][i]),
		 EMIT_COUNT);
	json_u64_or_null(emit, "latency_ns", batch->columns[MODEL_LATENCY][i], MODEL_NEVER);
	emit_end(emit);
}
