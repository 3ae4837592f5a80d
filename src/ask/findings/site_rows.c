/* Rows of chosen sites, one after the other in their order: for what one allocation says of the next. */
#include <assert.h>

#include "findings/finding.h"

struct row_walk {
	const struct finding_search *search;
	const uint32_t *index_of;
	unsigned columns;
	size_t count; /* rows of chosen sites in this batch */
	uint64_t rows[MODEL_BATCH];
	uint64_t values[MODEL_COLUMNS][MODEL_BATCH];
};

/* Few of a batch are read one by one; else all are read, and those of chosen sites moved together. */
static void column_read(struct row_walk *walk, enum model_column column, uint64_t first,
			size_t count)
{
	const struct model *model = walk->search->model;
	uint64_t *values = walk->values[column];

	if (walk->count < count / 4) {
		model_rows_gather(model, column, walk->rows, walk->count, values);
		return;
	}
	model_rows_read(model, column, first, count, values);
	for (size_t i = 0; i < walk->count && walk->count < count; i++)
		values[i] = values[walk->rows[i] - first];
}

static void batch_read(struct row_walk *walk, uint64_t first, size_t count)
{
	const uint32_t *site_of = walk->search->sites.site_of;
	uint64_t *stack = walk->values[MODEL_STACK];

	model_rows_read(walk->search->model, MODEL_STACK, first, count, stack);
	walk->count = 0;
	for (size_t i = 0; i < count; i++) {
		if (walk->index_of[site_of[stack[i]]] == UINT32_MAX)
			continue;
		walk->rows[walk->count] = first + i;
		stack[walk->count++] = stack[i];
	}
	for (unsigned column = 0; column < MODEL_COLUMNS && walk->count > 0; column++)
		if (column != MODEL_STACK && walk->columns & 1u << column)
			column_read(walk, (enum model_column)column, first, count);
}

static struct err *batch_visit(const struct row_walk *walk, site_row_fn *visit, void *context)
{
	const uint32_t *site_of = walk->search->sites.site_of;

	for (size_t i = 0; i < walk->count; i++)
		if (!visit(context, walk->index_of[site_of[walk->values[MODEL_STACK][i]]],
			   walk->values, i))
			return err_nomem();
	return NULL;
}

struct err *site_rows_each(const struct finding_search *search, const uint32_t *index_of,
			   unsigned columns, site_row_fn *visit, void *context)
{
	CLEAN(free) struct row_walk *walk = calloc(1, sizeof(*walk));
	const uint64_t row_count = model_row_count(search->model);
	struct err *err = NULL;

	assert(columns < 1u << MODEL_COLUMNS);
	if (!walk)
		return err_nomem();
	walk->search = search;
	walk->index_of = index_of;
	walk->columns = columns;
	for (uint64_t first = 0; first < row_count && !err; first += MODEL_BATCH) {
		if (first % MODEL_SEGMENT == 0)
			err = sweep_check(&search->limits);
		if (err)
			break;
		batch_read(walk, first, u64_min(row_count - first, MODEL_BATCH));
		err = batch_visit(walk, visit, context);
	}
	return err;
}

uint32_t *sites_choose(const struct finding_search *search, site_choice_fn *is_chosen,
		       size_t *count_ret)
{
	uint32_t *index_of = arena_array(search->arena, search->sites.count, sizeof(*index_of));

	*count_ret = 0;
	for (uint32_t i = 0; index_of && i < search->sites.count; i++)
		index_of[i] = is_chosen(search, i) ? (uint32_t)(*count_ret)++ : UINT32_MAX;
	return index_of;
}
