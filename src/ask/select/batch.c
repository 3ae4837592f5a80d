#include "select/batch.h"

#include <assert.h>

#include "select/facts.h"

static void batch_begin(struct batch *batch, const struct facts *facts, size_t count)
{
	assert(count <= MODEL_BATCH);
	batch->facts = facts;
	batch->count = count;
	batch->columns_read = 0;
}

void batch_rows(struct batch *batch, const struct facts *facts, uint64_t first, size_t count)
{
	assert(count <= MODEL_BATCH);
	assert(first + count <= model_row_count(facts->model));
	batch_begin(batch, facts, count);
	batch->rows = NULL;
	batch->first = first;
}

void batch_list(struct batch *batch, const struct facts *facts, const uint64_t *rows, size_t count)
{
	bool is_ascending = count > 0;

	assert(count <= MODEL_BATCH);
	assert(rows || count == 0);
	for (size_t i = 1; i < count; i++)
		is_ascending &= rows[i - 1] < rows[i];
	if (is_ascending && rows[count - 1] - rows[0] == count - 1) {
		batch_rows(batch, facts, rows[0], count);
		return;
	}
	batch_begin(batch, facts, count);
	batch->rows = rows;
	batch->first = is_ascending ? rows[0] : 0;
	batch->span = is_ascending ? rows[count - 1] - rows[0] + 1 : 0;
}

/* Rows close together are read as one range, including those between. */
static void column_read(const struct batch *batch, enum model_column column, uint64_t *values)
{
	enum { CLOSE = 8 };
	const struct model *model = batch->facts->model;
	uint64_t all[MODEL_BATCH];

	if (!batch->rows) {
		model_rows_read(model, column, batch->first, batch->count, values);
	} else if (batch->span == 0 || batch->span > MODEL_BATCH ||
		   batch->span > CLOSE * batch->count) {
		model_rows_gather(model, column, batch->rows, batch->count, values);
	} else {
		model_rows_read(model, column, batch->first, batch->span, all);
		for (size_t i = 0; i < batch->count; i++)
			values[i] = all[batch->rows[i] - batch->first];
	}
}

const uint64_t *batch_column(struct batch *batch, enum model_column column)
{
	uint64_t *values = batch->columns[column];

	assert((unsigned)column < MODEL_COLUMNS);
	if (!(batch->columns_read & 1u << column))
		column_read(batch, column, values);
	batch->columns_read |= 1u << column;
	return values;
}
