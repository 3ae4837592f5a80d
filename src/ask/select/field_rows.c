/* Field values from the columns of a row. */
#include "select/field_values.h"

#include <assert.h>

#include "sums/suppress.h"

static void rows_copy(struct batch *batch, enum model_column column, uint64_t *values)
{
	memcpy(values, batch_column(batch, column), batch->count * sizeof(*values));
}

/* A column in which one value means "none". */
static void rows_copy_or_none(struct batch *batch, enum model_column column, uint64_t none,
			      uint64_t *values)
{
	const uint64_t *column_values = batch_column(batch, column);

	for (size_t i = 0; i < batch->count; i++)
		values[i] = column_values[i] == none ? FIELD_NONE : column_values[i];
}

static void rows_flag(struct batch *batch, unsigned flag, uint64_t *values)
{
	const uint64_t *flags = batch_column(batch, MODEL_FLAGS);

	for (size_t i = 0; i < batch->count; i++)
		values[i] = (flags[i] & flag) != 0;
}

void rows_size(struct batch *batch, uint64_t *values)
{
	rows_copy(batch, MODEL_SIZE, values);
}

void rows_usable(struct batch *batch, uint64_t *values)
{
	rows_copy(batch, MODEL_USABLE, values);
}

void rows_slack(struct batch *batch, uint64_t *values)
{
	const uint64_t *size = batch_column(batch, MODEL_SIZE);
	const uint64_t *usable = batch_column(batch, MODEL_USABLE);

	/* An allocator may not know usable sizes: then the value is 0. */
	for (size_t i = 0; i < batch->count; i++)
		values[i] = usable[i] > size[i] ? usable[i] - size[i] : 0;
}

void rows_size_class(struct batch *batch, uint64_t *values)
{
	const uint64_t *size = batch_column(batch, MODEL_SIZE);

	for (size_t i = 0; i < batch->count; i++)
		values[i] = size[i] ? UINT64_C(1) << (63 - __builtin_clzll(size[i])) : 0;
}

void rows_address(struct batch *batch, uint64_t *values)
{
	rows_copy(batch, MODEL_ADDRESS, values);
}

void rows_time(struct batch *batch, uint64_t *values)
{
	rows_copy(batch, MODEL_ALLOC_NS, values);
}

void rows_free_time(struct batch *batch, uint64_t *values)
{
	assert(MODEL_NEVER == FIELD_NONE);
	rows_copy(batch, MODEL_FREE_NS, values);
}

void rows_lifetime(struct batch *batch, uint64_t *values)
{
	const uint64_t *begin = batch_column(batch, MODEL_ALLOC_NS);
	const uint64_t *end = batch_column(batch, MODEL_FREE_NS);

	for (size_t i = 0; i < batch->count; i++)
		values[i] = end[i] == MODEL_NEVER ? FIELD_NONE : end[i] - begin[i];
}

void rows_age(struct batch *batch, uint64_t *values)
{
	const uint64_t *begin = batch_column(batch, MODEL_ALLOC_NS);
	const uint64_t *end = batch_column(batch, MODEL_FREE_NS);
	const uint64_t last = model_process(batch->facts->model)->duration_ns;

	for (size_t i = 0; i < batch->count; i++)
		values[i] = (end[i] == MODEL_NEVER ? u64_max(last, begin[i]) : end[i]) - begin[i];
}

void rows_latency(struct batch *batch, uint64_t *values)
{
	rows_copy(batch, MODEL_LATENCY, values);
}

void rows_free_latency(struct batch *batch, uint64_t *values)
{
	rows_copy(batch, MODEL_FREE_LATENCY, values);
}

/* --- threads and functions ----------------------------------------------------------------- */

void rows_thread_index(struct batch *batch, uint64_t *values)
{
	rows_copy_or_none(batch, MODEL_THREAD, MODEL_NO_THREAD, values);
}

void rows_free_thread_index(struct batch *batch, uint64_t *values)
{
	rows_copy_or_none(batch, MODEL_FREE_THREAD, MODEL_NO_THREAD, values);
}

static void rows_tid(struct batch *batch, uint64_t *values)
{
	for (size_t i = 0; i < batch->count; i++) {
		if (values[i] != FIELD_NONE)
			values[i] = model_thread(batch->facts->model, values[i])->tid;
	}
}

void rows_thread(struct batch *batch, uint64_t *values)
{
	rows_thread_index(batch, values);
	rows_tid(batch, values);
}

void rows_free_thread(struct batch *batch, uint64_t *values)
{
	rows_free_thread_index(batch, values);
	rows_tid(batch, values);
}

size_t id_count_threads(const struct facts *facts)
{
	return model_thread_count(facts->model);
}

size_t id_count_calls(const struct facts *facts)
{
	(void)facts;
	return TAPE_FN_COUNT;
}

size_t id_count_marks(const struct facts *facts)
{
	return facts->mark_count;
}

size_t id_count_tags(const struct facts *facts)
{
	return facts->tags.count;
}

size_t id_count_pools(const struct facts *facts)
{
	return model_pool_count(facts->model);
}

const char *text_thread(const struct facts *facts, uint64_t id)
{
	assert(id < model_thread_count(facts->model));
	return model_thread(facts->model, id)->name;
}

void rows_call(struct batch *batch, uint64_t *values)
{
	rows_copy(batch, MODEL_FN, values);
}

void rows_free_call(struct batch *batch, uint64_t *values)
{
	rows_copy_or_none(batch, MODEL_FREE_FN, TAPE_FN_EXTENDED, values);
}

const char *text_call(const struct facts *facts, uint64_t id)
{
	assert(id < TAPE_FN_COUNT);
	(void)facts;
	return tape_fn_name((enum tape_fn)id);
}

void rows_stack(struct batch *batch, uint64_t *values)
{
	rows_copy(batch, MODEL_STACK, values);
}

void rows_free_stack(struct batch *batch, uint64_t *values)
{
	rows_copy_or_none(batch, MODEL_FREE_STACK, CAPTURE_STACK_NONE, values);
}

/* --- how it ended -------------------------------------------------------------------------- */

/* NULL: what was never freed has no free_ns. */
static const uint64_t *left_flags(struct batch *batch)
{
	return model_has_left(batch->facts->model) ? batch_column(batch, MODEL_FLAGS) : NULL;
}

void rows_leaked(struct batch *batch, uint64_t *values)
{
	const struct suppressed *suppressed = batch->facts->suppressed;
	const uint64_t *end = batch_column(batch, MODEL_FREE_NS);
	const uint64_t *stack = suppressed ? batch_column(batch, MODEL_STACK) : NULL;
	const uint64_t *flags = left_flags(batch);

	for (size_t i = 0; i < batch->count; i++)
		values[i] = model_never_freed(end[i], flags ? flags[i] : 0) &&
			    !(stack && suppressed_has(suppressed, stack[i]));
}

void rows_suppressed(struct batch *batch, uint64_t *values)
{
	const uint64_t *end = batch_column(batch, MODEL_FREE_NS);
	const uint64_t *stack = batch_column(batch, MODEL_STACK);
	const uint64_t *flags = left_flags(batch);

	for (size_t i = 0; i < batch->count; i++)
		values[i] = model_never_freed(end[i], flags ? flags[i] : 0) &&
			    suppressed_has(batch->facts->suppressed, stack[i]);
}

void rows_freed(struct batch *batch, uint64_t *values)
{
	const uint64_t *end = batch_column(batch, MODEL_FREE_NS);
	const uint64_t *flags = left_flags(batch);

	for (size_t i = 0; i < batch->count; i++)
		values[i] = !model_never_freed(end[i], flags ? flags[i] : 0);
}

void rows_temporary(struct batch *batch, uint64_t *values)
{
	rows_flag(batch, MODEL_ALLOCATION_TEMPORARY, values);
}

void rows_at_peak(struct batch *batch, uint64_t *values)
{
	rows_flag(batch, MODEL_ALLOCATION_PEAK, values);
}

void rows_lost_free(struct batch *batch, uint64_t *values)
{
	rows_flag(batch, MODEL_ALLOCATION_LOST_FREE, values);
}

void rows_reallocated(struct batch *batch, uint64_t *values)
{
	rows_flag(batch, MODEL_ALLOCATION_REALLOCED, values);
}

void rows_foreign_free(struct batch *batch, uint64_t *values)
{
	const uint64_t *by = batch_column(batch, MODEL_THREAD);
	const uint64_t *freed_by = batch_column(batch, MODEL_FREE_THREAD);

	for (size_t i = 0; i < batch->count; i++)
		values[i] = freed_by[i] != MODEL_NO_THREAD && freed_by[i] != by[i];
}

void rows_freed_in_range(struct batch *batch, uint64_t *values)
{
	const uint64_t *end = batch_column(batch, MODEL_FREE_NS);
	const struct facts *facts = batch->facts;

	for (size_t i = 0; i < batch->count; i++)
		values[i] = end[i] != MODEL_NEVER && end[i] >= facts->from_ns &&
			    end[i] <= facts->until_ns;
}

void rows_kept_in_range(struct batch *batch, uint64_t *values)
{
	const uint64_t *end = batch_column(batch, MODEL_FREE_NS);
	const uint64_t until = batch->facts->until_ns;

	for (size_t i = 0; i < batch->count; i++)
		values[i] = end[i] == MODEL_NEVER || end[i] > until;
}

/*
 * glibc puts two words before such a block and rounds the sum up to pages (malloc/malloc.c,
 * sysmalloc_mmap). Usable sizes of its other blocks are 8 more than a multiple of 16, so none of
 * them looks like this; nor do other allocators' size classes, which are not 16 less than a
 * multiple of the page size.
 */
void rows_mmapped(struct batch *batch, uint64_t *values)
{
	enum { HEAD_BYTES = 16 };
	const uint64_t *address = batch_column(batch, MODEL_ADDRESS);
	const uint64_t *usable = batch_column(batch, MODEL_USABLE);
	const uint64_t page = model_process(batch->facts->model)->page_bytes;
	const uint64_t mask = page && !(page & (page - 1)) ? page - 1 : 4095;

	for (size_t i = 0; i < batch->count; i++)
		values[i] = usable[i] > 0 && (address[i] & mask) == HEAD_BYTES &&
			    ((usable[i] + HEAD_BYTES) & mask) == 0;
}

void rows_mark(struct batch *batch, uint64_t *values)
{
	const uint64_t *ns = batch_column(batch, MODEL_ALLOC_NS);

	for (size_t i = 0; i < batch->count; i++)
		values[i] = facts_mark_at(batch->facts, ns[i]);
}

const char *text_mark(const struct facts *facts, uint64_t id)
{
	assert(id < facts->mark_count);
	return facts->marks[id]->text;
}

void rows_tag(struct batch *batch, uint64_t *values)
{
	const struct tags *tags = &batch->facts->tags;
	const uint64_t *ns = batch_column(batch, MODEL_ALLOC_NS);
	const uint64_t *threads = batch_column(batch, MODEL_THREAD);

	for (size_t i = 0; i < batch->count; i++) {
		const uint32_t tag = threads[i] == MODEL_NO_THREAD
					     ? TAG_NONE
					     : tags_at(tags, (uint32_t)threads[i], ns[i]);

		values[i] = tag == TAG_NONE ? FIELD_NONE : tag;
	}
}

const char *text_tag(const struct facts *facts, uint64_t id)
{
	assert(id < facts->tags.count);
	return facts->tags.texts[id];
}

void rows_pool(struct batch *batch, uint64_t *values)
{
	assert(MODEL_NO_POOL == FIELD_NONE);
	rows_copy(batch, MODEL_POOL, values);
}

const char *text_pool(const struct facts *facts, uint64_t id)
{
	assert(id < model_pool_count(facts->model));
	return model_pools(facts->model)[id].name;
}

/* --- realloc chains ------------------------------------------------------------------------ */

void rows_chain(struct batch *batch, uint64_t *values)
{
	assert(MODEL_NO_CHAIN == FIELD_NONE);
	rows_copy(batch, MODEL_CHAIN, values);
}

void rows_chain_length(struct batch *batch, uint64_t *values)
{
	const uint64_t *chain = batch_column(batch, MODEL_CHAIN);

	for (size_t i = 0; i < batch->count; i++)
		values[i] = chain[i] == MODEL_NO_CHAIN
				    ? 1
				    : model_chain_get(batch->facts->model, chain[i]).length;
}

void rows_chain_position(struct batch *batch, uint64_t *values)
{
	for (size_t i = 0; i < batch->count; i++)
		values[i] = facts_chain_position(batch->facts, batch_row(batch, i));
}

/* A column's value in the first or last row of each row's chain. */
static void chain_ends(struct batch *batch, enum model_column column, bool is_last,
		       uint64_t *values)
{
	const struct model *model = batch->facts->model;
	const uint64_t *chain = batch_column(batch, MODEL_CHAIN);
	uint64_t rows[MODEL_BATCH], found[MODEL_BATCH];
	size_t count = 0;

	rows_copy(batch, column, values);
	for (size_t i = 0; i < batch->count; i++) {
		struct model_chain ends;

		if (chain[i] == MODEL_NO_CHAIN)
			continue;
		ends = model_chain_get(model, chain[i]);
		rows[count++] = is_last ? ends.last_row : ends.first_row;
	}
	model_rows_gather(model, column, rows, count, found);
	count = 0;
	for (size_t i = 0; i < batch->count; i++) {
		if (chain[i] != MODEL_NO_CHAIN)
			values[i] = found[count++];
	}
}

void rows_first_size(struct batch *batch, uint64_t *values)
{
	chain_ends(batch, MODEL_SIZE, false, values);
}

void rows_last_size(struct batch *batch, uint64_t *values)
{
	chain_ends(batch, MODEL_SIZE, true, values);
}

void rows_chain_lifetime(struct batch *batch, uint64_t *values)
{
	uint64_t begin[MODEL_BATCH];

	chain_ends(batch, MODEL_ALLOC_NS, false, begin);
	chain_ends(batch, MODEL_FREE_NS, true, values);
	for (size_t i = 0; i < batch->count; i++)
		values[i] = values[i] == MODEL_NEVER ? FIELD_NONE : values[i] - begin[i];
}

void rows_chain_leaked(struct batch *batch, uint64_t *values)
{
	uint64_t stack[MODEL_BATCH], flags[MODEL_BATCH] = { 0 };

	chain_ends(batch, MODEL_FREE_NS, true, values);
	chain_ends(batch, MODEL_STACK, true, stack);
	if (model_has_left(batch->facts->model))
		chain_ends(batch, MODEL_FLAGS, true, flags);
	for (size_t i = 0; i < batch->count; i++)
		values[i] = model_never_freed(values[i], flags[i]) &&
			    !suppressed_has(batch->facts->suppressed, stack[i]);
}
