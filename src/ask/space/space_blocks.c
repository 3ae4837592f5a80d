#include "space/space_blocks.h"

#include <assert.h>
#include <stdlib.h>

#include "space/space.h"

struct batch {
	const struct model *model;
	enum model_column extra;
	size_t count;
	uint64_t free_ns[MODEL_BATCH];
	uint64_t rows[MODEL_BATCH]; /* live ones */
	uint64_t address[MODEL_BATCH];
	uint64_t bytes[MODEL_BATCH];
	uint64_t usable[MODEL_BATCH];
	uint64_t stack[MODEL_BATCH];
	uint64_t values[MODEL_BATCH]; /* of the extra column */
};

/* Segments without live blocks at ns are skipped. */
static bool segment_is_dead(const struct model *model, uint64_t row, uint64_t ns)
{
	struct model_bounds bounds;

	return model_segment_bounds(model, MODEL_FREE_NS, row / MODEL_SEGMENT, &bounds) &&
	       bounds.max < ns;
}

static void batch_read(struct batch *batch, uint64_t first, size_t count, uint64_t before_ns)
{
	const struct model *model = batch->model;
	size_t live = 0;

	model_rows_read(model, MODEL_FREE_NS, first, count, batch->free_ns);
	for (size_t i = 0; i < count; i++)
		if (batch->free_ns[i] >= before_ns)
			batch->rows[live++] = first + i;
	model_rows_gather(model, MODEL_ADDRESS, batch->rows, live, batch->address);
	model_rows_gather(model, MODEL_SIZE, batch->rows, live, batch->bytes);
	model_rows_gather(model, MODEL_USABLE, batch->rows, live, batch->usable);
	model_rows_gather(model, MODEL_STACK, batch->rows, live, batch->stack);
	model_rows_gather(model, batch->extra, batch->rows, live, batch->values);
	batch->count = live;
}

bool space_blocks_each(const struct model *model, uint64_t before_ns, enum model_column extra,
		       void (*visit)(void *context, const struct space_block *block), void *context)
{
	const uint64_t end = model_row_at(model, before_ns);
	struct batch *batch = malloc(sizeof(*batch));

	assert((unsigned)extra < MODEL_COLUMNS);
	assert(visit);
	if (!batch)
		return false;
	batch->model = model;
	batch->extra = extra;
	for (uint64_t row = 0; row < end;) {
		const uint64_t segment_end = (row / MODEL_SEGMENT + 1) * MODEL_SEGMENT;
		const uint64_t stop = u64_min(u64_min(segment_end, end), row + MODEL_BATCH);

		if (row % MODEL_SEGMENT == 0 && segment_is_dead(model, row, before_ns)) {
			row = segment_end;
			continue;
		}
		batch_read(batch, row, stop - row, before_ns);
		for (size_t i = 0; i < batch->count; i++)
			visit(context,
			      &(struct space_block) {
				      .address = batch->address[i],
				      .bytes = batch->bytes[i],
				      .usable = space_usable(batch->bytes[i], batch->usable[i]),
				      .stack = (uint32_t)batch->stack[i],
				      .extra = batch->values[i],
			      });
		row = stop;
	}
	free(batch);
	return true;
}
