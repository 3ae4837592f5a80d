/*
 * What every stack had done at a moment: the last checkpoint before it, and the allocations and
 * frees since.
 */
#include <assert.h>

#include "model/parts.h"

/* Values of a batch of rows, or of frees. */
struct batch {
	uint64_t stack[MODEL_BATCH];
	uint64_t size[MODEL_BATCH];
	uint64_t usable[MODEL_BATCH]; /* or slack, of frees */
};

static void add_allocations(const struct model *model, uint64_t first, uint64_t end,
			    struct batch *batch, struct model_stack_moment *moments)
{
	for (uint64_t at = first; at < end; at += MODEL_BATCH) {
		size_t count = u64_min(end - at, MODEL_BATCH);

		model_rows_read(model, MODEL_STACK, at, count, batch->stack);
		model_rows_read(model, MODEL_SIZE, at, count, batch->size);
		model_rows_read(model, MODEL_USABLE, at, count, batch->usable);
		for (size_t i = 0; i < count; i++) {
			struct model_stack_moment *moment = &moments[batch->stack[i]];

			moment->allocated.count++;
			moment->allocated.bytes += batch->size[i];
			moment->allocated_usable += batch->usable[i];
		}
	}
}

static void add_frees(const struct model *model, uint64_t first, uint64_t end, struct batch *batch,
		      struct model_stack_moment *moments)
{
	for (uint64_t at = first; at < end; at += MODEL_BATCH) {
		size_t count = u64_min(end - at, MODEL_BATCH);

		table_freed_read(model, FREED_STACK, at, count, batch->stack);
		table_freed_read(model, FREED_SIZE, at, count, batch->size);
		table_freed_read(model, FREED_SLACK, at, count, batch->usable);
		for (size_t i = 0; i < count; i++) {
			struct model_stack_moment *moment = &moments[batch->stack[i]];
			const uint64_t is_temporary = batch->usable[i] & 1;

			moment->freed.count++;
			moment->freed.bytes += batch->size[i];
			moment->freed_usable += batch->size[i] + (batch->usable[i] >> 1);
			moment->temporary.count += is_temporary;
			moment->temporary.bytes += is_temporary * batch->size[i];
		}
	}
}

void model_stack_moments(const struct model *model, uint64_t ns, struct model_stack_moment *moments)
{
	const struct table *table = &model->table;
	const uint64_t row_end = model_row_at(model, ns), freed_end = model_free_at(model, ns);
	const struct checkpoint *best = NULL;
	struct batch batch;

	for (size_t i = 0; i < table->checkpoint_count; i++) {
		const struct checkpoint *point = &table->checkpoints[i];

		if (point->row_count <= row_end && point->freed_count <= freed_end &&
		    (!best ||
		     point->row_count + point->freed_count >= best->row_count + best->freed_count))
			best = point;
	}
	memset(moments, 0, model->stack_count * sizeof(*moments));
	if (best)
		memcpy(moments, table->file + best->offset, best->stack_count * sizeof(*moments));
	add_allocations(model, best ? best->row_count : 0, row_end, &batch, moments);
	add_frees(model, best ? best->freed_count : 0, freed_end, &batch, moments);
}
