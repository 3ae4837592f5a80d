#include "select/passes.h"

#include <assert.h>
#include <string.h>

static const struct selection *unless_all(const struct selection *selection)
{
	return selection && selection_is_all(selection) ? NULL : selection;
}

struct pass pass_begin(const struct model *model, const struct selection *selection)
{
	assert(!selection || selection->model == model);
	return (struct pass) {
		.model = model,
		.selection = unless_all(selection),
		.end = model_row_count(model),
	};
}

struct pass pass_begin_between(const struct model *model, const struct selection *selection,
			       uint64_t from_ns, uint64_t until_ns)
{
	struct pass pass = pass_begin(model, selection);

	assert(from_ns <= until_ns);
	pass.begin = model_row_at(model, from_ns);
	/* Selections are read in whole batches. */
	pass.at = pass.selection ? pass.begin / MODEL_BATCH * MODEL_BATCH : pass.begin;
	if (until_ns < UINT64_MAX)
		pass.end = model_row_at(model, until_ns + 1);
	return pass;
}

static void next_of_all(struct pass *pass)
{
	pass->count = pass->at < pass->end ? u64_min(pass->end - pass->at, MODEL_BATCH) : 0;
	for (size_t i = 0; i < pass->count; i++)
		pass->rows[i] = pass->at + i;
	pass->at += pass->count;
}

/* Only the first batch can begin too early, and only the last can end too late. */
static void next_selected(struct pass *pass)
{
	size_t early = 0;

	pass->count = 0;
	if (pass->at >= pass->end)
		return;
	do {
		pass->count = selection_next(pass->selection, &pass->at, pass->rows);
		for (early = 0; early < pass->count && pass->rows[early] < pass->begin;)
			early++;
	} while (pass->count > 0 && early == pass->count);
	pass->count -= early;
	memmove(pass->rows, pass->rows + early, pass->count * sizeof(*pass->rows));
	while (pass->count > 0 && pass->rows[pass->count - 1] >= pass->end)
		pass->count--;
}

bool pass_next(struct pass *pass)
{
	if (pass->selection)
		next_selected(pass);
	else
		next_of_all(pass);
	assert(pass->count <= MODEL_BATCH);
	return pass->count > 0;
}

bool pass_is_all(const struct pass *pass)
{
	return !pass->selection && pass->begin == 0 && pass->end == model_row_count(pass->model);
}

void pass_read(const struct pass *pass, enum model_column column, uint64_t *values)
{
	assert(pass->count > 0 && pass->count <= MODEL_BATCH);
	assert((unsigned)column < MODEL_COLUMNS);
	/* Contiguous rows are read faster. */
	if (pass->rows[pass->count - 1] - pass->rows[0] + 1 == pass->count)
		model_rows_read(pass->model, column, pass->rows[0], pass->count, values);
	else
		model_rows_gather(pass->model, column, pass->rows, pass->count, values);
}

void pass_rows_read(const struct pass *pass, struct pass_rows *rows)
{
	assert(pass->count > 0);
	pass_read(pass, MODEL_SIZE, rows->size);
	pass_read(pass, MODEL_ALLOC_NS, rows->alloc_ns);
	pass_read(pass, MODEL_FREE_NS, rows->free_ns);
	pass_read(pass, MODEL_FLAGS, rows->flags);
	pass_read(pass, MODEL_STACK, rows->stack);
}

bool pass_has(const struct selection *selection, uint64_t row)
{
	return !selection || selection_has(selection, row);
}
