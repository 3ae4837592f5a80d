/* The rows of a model as in model.h, read from its index. */
#include <assert.h>

#include "model/parts.h"

/* --- values, forced into their range ------------------------------------------------------ */

static void bound(uint64_t *values, size_t count, uint64_t end, uint64_t otherwise)
{
	for (size_t i = 0; i < count; i++)
		values[i] = values[i] < end ? values[i] : otherwise;
}

struct err *table_note_stacks(struct model *model)
{
	const size_t words = div_up(model->stack_count, 64);
	uint64_t *used = arena_array(&model->arena, words, sizeof(*used));
	uint32_t some = UINT32_MAX;

	if (!used)
		return err_nomem();
	for (uint32_t i = 0; i < model->stack_count; i++) {
		if (model_sums_of(&model->stack_sums, i)->allocated.count == 0)
			continue;
		used[i / 64] |= UINT64_C(1) << i % 64;
		some = i;
	}
	if (some == UINT32_MAX && model->table.row_count > 0)
		return err_new(ERR_FORMAT, "the index is damaged");
	model->table.used_stacks = used;
	model->table.used_stack = some;
	return NULL;
}

static void bound_to_used(const struct model *model, size_t count, uint64_t *values)
{
	const uint64_t *used = model->table.used_stacks;

	for (size_t i = 0; i < count; i++)
		if (unlikely(values[i] >= model->stack_count ||
			     !(used[values[i] / 64] >> values[i] % 64 & 1)))
			values[i] = model->table.used_stack;
}

/*
 * Row values of an index are used as indices by callers: they must be valid, or they become "none".
 */
static void sanitize(const struct model *model, enum model_column column, size_t count,
		     uint64_t *values)
{
	switch (column) {
	case MODEL_STACK:
		bound_to_used(model, count, values);
		break;
	case MODEL_FREE_STACK:
		bound(values, count, model->stack_count, CAPTURE_STACK_NONE);
		break;
	case MODEL_THREAD:
		bound(values, count, model->thread_count, 0);
		break;
	case MODEL_FREE_THREAD:
		bound(values, count, model->thread_count, MODEL_NO_THREAD);
		break;
	case MODEL_CHAIN:
		bound(values, count, model->table.chain_count, MODEL_NO_CHAIN);
		break;
	case MODEL_FN:
		bound(values, count, TAPE_FN_COUNT, 0);
		break;
	case MODEL_FREE_FN:
		bound(values, count, TAPE_FN_COUNT, TAPE_FN_EXTENDED);
		break;
	case MODEL_POOL:
		bound(values, count, model->pool_count, 0);
		break;
	default:
		break;
	}
}

/* From the stored distance; 0 or more than there are earlier rows: none. */
static uint64_t continued_row(uint64_t row, uint64_t distance)
{
	return distance - 1 < row ? row - distance : MODEL_NO_ROW;
}

/* Live at the peak: allocated before it, and freed after it. */
static uint64_t peak_flag(const struct table *table, uint64_t peak_ns, uint64_t row,
			  uint64_t free_ns)
{
	size_t low = 0, high = table->peak_tie_count;

	if (row >= table->rows_at_peak || free_ns < peak_ns)
		return 0;
	if (free_ns > peak_ns)
		return MODEL_ALLOCATION_PEAK;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->peak_ties[middle] < row)
			low = middle + 1;
		else
			high = middle;
	}
	return low < table->peak_tie_count && table->peak_ties[low] == row ? MODEL_ALLOCATION_PEAK
									   : 0;
}

bool model_has_left(const struct model *model)
{
	return model->functions[TAPE_FN_PROCESS_END].calls > 0;
}

static uint64_t left_flag(uint64_t free_fn)
{
	return free_fn == TAPE_FN_PROCESS_END ? MODEL_ALLOCATION_LEFT : 0;
}

/* --- in order ------------------------------------------------------------------------------- */

/* What takes the place of the slack in a model of pools, whose objects have none. */
static void read_pools(const struct model *model, const struct segment *segment, uint32_t at,
		       size_t count, uint64_t *values)
{
	for (size_t i = 0; i < count; i++)
		values[i] = MODEL_NO_POOL;
	if (!model->is_of_pools)
		return;
	segment_read(segment, model->table.file, MODEL_USABLE, at, count, values);
	sanitize(model, MODEL_POOL, count, values);
}

/* Rows of one segment. */
static void read_part(const struct model *model, enum model_column column, uint64_t first,
		      size_t count, uint64_t *values)
{
	const struct table *table = &model->table;
	const struct segment *segment = &table->segments[first >> SEGMENT_BITS];
	const uint32_t at = first % MODEL_SEGMENT;
	uint64_t more[MODEL_BATCH];

	if (column == MODEL_POOL) {
		read_pools(model, segment, at, count, values);
		return;
	}
	if (column == MODEL_USABLE && model->is_of_pools)
		column = MODEL_SIZE;
	segment_read(segment, table->file, column, at, count, values);
	sanitize(model, column, count, values);
	if (column == MODEL_USABLE) {
		segment_read(segment, table->file, MODEL_SIZE, at, count, more);
		for (size_t i = 0; i < count; i++)
			values[i] += more[i];
	} else if (column == MODEL_REALLOC_OF) {
		for (size_t i = 0; i < count; i++)
			values[i] = continued_row(first + i, values[i]);
	} else if (column == MODEL_FLAGS && first < table->rows_at_peak) {
		segment_read(segment, table->file, MODEL_FREE_NS, at, count, more);
		for (size_t i = 0; i < count; i++)
			values[i] |= peak_flag(table, model->totals.peak_ns, first + i, more[i]);
	}
	if (column == MODEL_FLAGS && model_has_left(model)) {
		segment_read(segment, table->file, MODEL_FREE_FN, at, count, more);
		for (size_t i = 0; i < count; i++)
			values[i] |= left_flag(more[i]);
	}
}

void model_rows_read(const struct model *model, enum model_column column, uint64_t first,
		     size_t count, uint64_t *values)
{
	assert(first <= model->table.row_count);
	assert((unsigned)column < MODEL_COLUMNS);
	assert(first + count <= model->table.row_count);
	while (count > 0) {
		size_t part =
			u64_min(count, u64_min(MODEL_SEGMENT - first % MODEL_SEGMENT, MODEL_BATCH));

		read_part(model, column, first, part, values);
		first += part;
		values += part;
		count -= part;
	}
}

/* --- in any order ---------------------------------------------------------------------------- */

static uint64_t stored(const struct table *table, enum model_column column, uint64_t row)
{
	return segment_get(&table->segments[row >> SEGMENT_BITS], table->file, column,
			   row % MODEL_SEGMENT);
}

void model_rows_gather(const struct model *model, enum model_column column, const uint64_t *rows,
		       size_t count, uint64_t *values)
{
	const struct table *table = &model->table;

	assert((unsigned)column < MODEL_COLUMNS);
	assert(rows || count == 0);
	if (column == MODEL_USABLE && model->is_of_pools)
		column = MODEL_SIZE;
	for (size_t i = 0; i < count; i++) {
		assert(rows[i] < table->row_count);
		values[i] = column != MODEL_POOL ? stored(table, column, rows[i])
			    : model->is_of_pools ? stored(table, MODEL_USABLE, rows[i])
						 : MODEL_NO_POOL;
	}
	if (column == MODEL_POOL && !model->is_of_pools)
		return;
	sanitize(model, column, count, values);
	for (size_t i = 0; i < count; i++) {
		if (column == MODEL_USABLE)
			values[i] += stored(table, MODEL_SIZE, rows[i]);
		else if (column == MODEL_REALLOC_OF)
			values[i] = continued_row(rows[i], values[i]);
		else if (column == MODEL_FLAGS && rows[i] < table->rows_at_peak)
			values[i] |= peak_flag(table, model->totals.peak_ns, rows[i],
					       stored(table, MODEL_FREE_NS, rows[i]));
		else if (column != MODEL_FLAGS)
			break;
		if (column == MODEL_FLAGS && model_has_left(model))
			values[i] |= left_flag(stored(table, MODEL_FREE_FN, rows[i]));
	}
}

uint64_t model_row_value(const struct model *model, enum model_column column, uint64_t row)
{
	uint64_t value;

	model_rows_gather(model, column, &row, 1, &value);
	return value;
}

/* --- finding rows ---------------------------------------------------------------------------- */

bool model_segment_bounds(const struct model *model, enum model_column column, uint64_t segment,
			  struct model_bounds *bounds_ret)
{
	assert((unsigned)column < MODEL_COLUMNS);
	if (segment >= (model->table.row_count + MODEL_SEGMENT - 1) / MODEL_SEGMENT ||
	    column == MODEL_FLAGS || column == MODEL_REALLOC_OF)
		return false;
	if (column == MODEL_USABLE && model->is_of_pools)
		column = MODEL_SIZE;
	*bounds_ret = model->table.segments[segment].bounds[column];
	return true;
}

uint64_t model_row_count(const struct model *model)
{
	return model->table.row_count;
}

uint64_t model_row_at(const struct model *model, uint64_t ns)
{
	uint64_t low = 0, high = model->table.row_count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (stored(&model->table, MODEL_ALLOC_NS, middle) < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* --- frees ----------------------------------------------------------------------------------- */

uint64_t model_free_count(const struct model *model)
{
	return model->table.freed_count;
}

void table_freed_read(const struct model *model, enum freed_column column, uint64_t first,
		      size_t count, uint64_t *values)
{
	const struct table *table = &model->table;

	assert(column < FREED_COLUMNS);
	assert(first <= table->freed_count);
	assert(first + count <= table->freed_count);
	while (count > 0) {
		const uint32_t at = first % FREED_BLOCK;
		const size_t part = u64_min(count, FREED_BLOCK - at);

		freed_read(&table->freed[first / FREED_BLOCK], table->file, column, at, part,
			   values);
		if (column == FREED_ROW)
			bound(values, part, table->row_count, table->row_count - 1);
		else if (column == FREED_STACK)
			bound_to_used(model, part, values);
		first += part;
		values += part;
		count -= part;
	}
}

void model_frees_read(const struct model *model, uint64_t first, size_t count, uint64_t *rows)
{
	table_freed_read(model, FREED_ROW, first, count, rows);
}

void model_frees_read_events(const struct model *model, uint64_t first, size_t count, uint64_t *ns,
			     uint64_t *bytes)
{
	table_freed_read(model, FREED_TIME, first, count, ns);
	table_freed_read(model, FREED_SIZE, first, count, bytes);
}

uint64_t model_free_at(const struct model *model, uint64_t ns)
{
	uint64_t low = 0, high = model->table.freed_count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2, at_ns;

		table_freed_read(model, FREED_TIME, middle, 1, &at_ns);
		if (at_ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* --- chains ---------------------------------------------------------------------------------- */

uint64_t model_chain_count(const struct model *model)
{
	return model->table.chain_count;
}

struct model_chain model_chain_get(const struct model *model, uint64_t chain)
{
	const struct table *table = &model->table;
	const struct chain_record *record = &table->chains[chain];

	assert(chain < table->chain_count);
	return (struct model_chain) {
		.first_row = u64_min(record->first_row, table->row_count - 1),
		.last_row = u64_min(record->last_row, table->row_count - 1),
		.length = record->length,
	};
}
