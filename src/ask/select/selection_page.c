/*
 * A page of the selected rows ordered by a field. Its start and end are found by repeated
 * subdivision: count the rows in each of many equal parts of the value range, then subdivide the
 * part in question. Rows in between are collected and sorted.
 */
#include <assert.h>

#include "base/sort.h"
#include "base/vec.h"
#include "select/sort_keys.h"

enum { PARTS_BITS = 14, PARTS = 1 << PARTS_BITS, COLLECT_MAX = 1 << 16 };

/* --- where a rank is ----------------------------------------------------------------------- */

/* The range of keys that contains a given rank. */
struct range {
	uint64_t rank;
	uint64_t low;
	uint64_t high;	 /* inclusive */
	uint64_t before; /* rows with keys under low */
	uint64_t count;	 /* rows with keys in it */
	bool is_whole;	 /* first step: parts are by logarithm of the values */
	bool is_descending;
};

static bool range_is_found(const struct range *range)
{
	return range->low == range->high || range->count <= COLLECT_MAX;
}

static unsigned part_shift(const struct range *range)
{
	const uint64_t width = range->high - range->low;
	const unsigned bits = width ? 64 - (unsigned)__builtin_clzll(width) : 0;

	return bits > PARTS_BITS ? bits - PARTS_BITS : 0;
}

/*
 * Values spread over many orders of magnitude: at first each octave has equally many parts. The
 * last part is for rows without a value.
 */
enum { OCTAVE_BITS = 8, OCTAVE_PARTS = 1 << OCTAVE_BITS, PART_NONE = PARTS - 1 };

static size_t magnitude_of(uint64_t value)
{
	unsigned octave;

	if (value < OCTAVE_PARTS)
		return (size_t)value;
	octave = 63 - (unsigned)__builtin_clzll(value) - OCTAVE_BITS;
	return ((size_t)(octave + 1) << OCTAVE_BITS) + (size_t)(value >> octave) - OCTAVE_PARTS;
}

static uint64_t magnitude_begin(size_t magnitude)
{
	const size_t octave = magnitude >> OCTAVE_BITS;

	if (octave == 0)
		return magnitude;
	return (uint64_t)(OCTAVE_PARTS + (magnitude & (OCTAVE_PARTS - 1))) << (octave - 1);
}

static_assert(((64 - OCTAVE_BITS + 1) << OCTAVE_BITS) <= PART_NONE, "parts for all magnitudes");

static size_t part_of(const struct range *range, uint64_t key)
{
	if (!range->is_whole)
		return (key - range->low) >> part_shift(range);
	if (key == UINT64_MAX)
		return PART_NONE;
	return range->is_descending ? PART_NONE - 1 - magnitude_of(UINT64_MAX - 1 - key)
				    : magnitude_of(key);
}

static void part_take(struct range *range, size_t part)
{
	const unsigned shift = part_shift(range);
	size_t magnitude = range->is_descending ? PART_NONE - 1 - part : part;

	if (!range->is_whole) {
		range->low += (uint64_t)part << shift;
		range->high =
			range->low + u64_min(range->high - range->low, (UINT64_C(1) << shift) - 1);
		return;
	}
	range->is_whole = false;
	range->low = range->high = UINT64_MAX;
	if (part == PART_NONE)
		return;
	range->low = magnitude_begin(magnitude);
	/* The last octave's end would wrap to the top value, which means no value. */
	range->high = u64_min(magnitude_begin(magnitude + 1) - 1, UINT64_MAX - 1);
	if (range->is_descending) {
		const uint64_t low = range->low;

		range->low = UINT64_MAX - 1 - range->high;
		range->high = UINT64_MAX - 1 - low;
	}
}

enum { FIRST, LAST, ENDS };

struct counter {
	struct sort_reading *reading;
	const struct range *ranges; /* ENDS of them */
	uint64_t *parts;	    /* ENDS times PARTS */
};

static void count_key(const struct counter *counter, int end, uint64_t key)
{
	const struct range *range = &counter->ranges[end];

	if (key >= range->low && key <= range->high)
		counter->parts[(size_t)end * PARTS + part_of(range, key)]++;
}

static struct err *count_segment(void *context, uint64_t segment)
{
	const struct counter *counter = context;
	struct sort_reading *reading = counter->reading;
	const uint64_t row_count = model_row_count(reading->keys->selection->model);
	const uint64_t end = u64_min((segment + 1) * MODEL_SEGMENT, row_count);

	for (uint64_t first = segment * MODEL_SEGMENT; first < end; first += MODEL_BATCH) {
		sort_reading_read(reading, first);
		for (size_t i = 0; i < reading->count; i++) {
			count_key(counter, FIRST, reading->values[i]);
			if (!counter->ranges[LAST].is_whole)
				count_key(counter, LAST, reading->values[i]);
		}
	}
	return NULL;
}

/* Narrows the range to the part with the rank. */
static void range_narrow(struct range *range, const uint64_t *parts)
{
	size_t part = 0;

	for (; range->before + parts[part] <= range->rank; part++)
		range->before += parts[part];
	range->count = parts[part];
	part_take(range, part);
}

struct pass_memory {
	size_t worker_count;
	uint64_t segment_count;
	struct sort_reading *readings;
	uint64_t *parts; /* of all workers */
};

static void pass_memory_deinit(struct pass_memory *memory)
{
	free(memory->readings);
	free(memory->parts);
}
CLEAN_DEFINE_DEINIT(pass_memory_deinit, struct pass_memory);

static struct err *ranges_count(const struct sort_keys *keys, struct pass_memory *memory,
				struct range *ranges)
{
	const size_t size = (size_t)ENDS * PARTS;
	struct counter counters[SWEEP_WORKERS_MAX];
	struct err *err;

	memset(memory->parts, 0, memory->worker_count * size * sizeof(*memory->parts));
	for (size_t i = 0; i < memory->worker_count; i++) {
		memory->readings[i].keys = keys;
		counters[i] =
			(struct counter) { &memory->readings[i], ranges, memory->parts + i * size };
	}
	err = sweep_run(&keys->selection->limits, memory->segment_count, count_segment, counters,
			sizeof(*counters), memory->worker_count);
	if (err)
		return err;
	for (size_t i = size; i < memory->worker_count * size; i++)
		memory->parts[i % size] += memory->parts[i];
	for (int end = FIRST; end < ENDS; end++) {
		/* In the first step both ranges are equal and counted once. */
		const size_t counted = ranges[end].is_whole ? FIRST : (size_t)end;

		if (!range_is_found(&ranges[end]))
			range_narrow(&ranges[end], memory->parts + counted * PARTS);
	}
	return NULL;
}

static struct err *ranges_find(const struct sort_keys *keys, struct range *ranges)
{
	const struct selection *selection = keys->selection;
	const uint64_t row_count = model_row_count(selection->model);
	CLEAN(pass_memory_deinit) struct pass_memory memory = { 0 };
	struct err *err = NULL;

	memory.segment_count = div_up(row_count, MODEL_SEGMENT);
	memory.worker_count = sweep_workers(&selection->limits, memory.segment_count);
	memory.readings = calloc(memory.worker_count, sizeof(*memory.readings));
	memory.parts = calloc(memory.worker_count * ENDS * PARTS, sizeof(*memory.parts));
	if (!memory.readings || !memory.parts)
		return err_nomem();
	while (!err && (!range_is_found(&ranges[FIRST]) || !range_is_found(&ranges[LAST])))
		err = ranges_count(keys, &memory, ranges);
	return err;
}

/* --- the rows between ---------------------------------------------------------------------- */

struct entry {
	uint64_t key;
	uint64_t row;
};

VEC_DEFINE(entry_vec, struct entry);

static int entry_compare(const void *context, const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	const int order = sort_compare_u64(a->key, b->key);

	(void)context;
	return order ? order : sort_compare_u64(a->row, b->row);
}

/*
 * If very many rows share a value, only those that can be on the page are kept: ties are in time
 * order, the order in which they arrive here.
 */
struct collector {
	const struct range *ranges;
	uint64_t first_ties; /* seen so far, equal to the single value of the first range */
	uint64_t last_ties;
	struct entry_vec entries;
};

static bool is_on_page(struct collector *collector, uint64_t key)
{
	const struct range *first = &collector->ranges[FIRST], *last = &collector->ranges[LAST];
	bool is_in = key >= first->low && key <= last->high;

	if (first->low == first->high && key == first->low)
		is_in &= first->before + collector->first_ties++ >= first->rank;
	if (last->low == last->high && key == last->low)
		is_in &= last->before + collector->last_ties++ <= last->rank;
	return is_in;
}

static struct err *collect(const struct sort_keys *keys, struct collector *collector)
{
	const struct selection *selection = keys->selection;
	CLEAN(free) struct sort_reading *reading = calloc(1, sizeof(*reading));
	struct err *err = NULL;

	if (!reading)
		return err_nomem();
	reading->keys = keys;
	for (uint64_t at = 0; at < model_row_count(selection->model) && !err; at += MODEL_BATCH) {
		sort_reading_read(reading, at);
		for (size_t i = 0; i < reading->count; i++) {
			const struct entry entry = { reading->values[i], reading->rows[i] };

			if (is_on_page(collector, entry.key) &&
			    !entry_vec_push(&collector->entries, entry))
				return err_nomem();
		}
		if (at % MODEL_SEGMENT == 0)
			err = sweep_check(&selection->limits);
	}
	if (!err && !sort_stable(collector->entries.items, collector->entries.count,
				 sizeof(struct entry), entry_compare, NULL))
		err = err_nomem();
	return err;
}

static struct err *page_find(const struct sort_keys *keys, uint64_t skip, uint64_t count,
			     uint64_t *rows)
{
	struct range ranges[ENDS];
	struct collector collector = { .ranges = ranges };
	uint64_t first;
	struct err *err;

	for (int end = FIRST; end < ENDS; end++)
		ranges[end] = (struct range) { .rank = end == FIRST ? skip : skip + count - 1,
					       .high = UINT64_MAX,
					       .count = keys->selection->count,
					       .is_whole = true,
					       .is_descending = keys->order->is_descending };
	err = ranges_find(keys, ranges);
	if (!err)
		err = collect(keys, &collector);
	first = ranges[FIRST].low == ranges[FIRST].high ? 0 : skip - ranges[FIRST].before;
	for (uint64_t i = 0; i < count && !err; i++)
		rows[i] = collector.entries.items[first + i].row;
	entry_vec_deinit(&collector.entries);
	return err;
}

struct err *selection_page(const struct selection *selection, const struct selection_order *order,
			   uint64_t skip, uint64_t count, struct arena *arena,
			   const uint64_t **rows_ret, uint64_t *count_ret)
{
	CLEAN(sort_keys_deinit) struct sort_keys keys = { 0 };
	uint64_t *rows;
	struct err *err;

	assert(!order->field || order->field->type != FIELD_TEXTS);
	assert(count > 0 && count <= SELECTION_PAGE_MAX);
	if (!order->field || strcmp(order->field->name, "time") == 0 || skip >= selection->count)
		return selection_sorted(selection, order, skip, count, arena, rows_ret, count_ret);
	count = u64_min(count, selection->count - skip);
	rows = arena_array(arena, count, sizeof(*rows));
	if (!rows)
		return err_nomem();
	err = sort_keys_init(&keys, selection, order);
	if (!err)
		err = page_find(&keys, skip, count, rows);
	if (err)
		return err;
	*rows_ret = rows;
	*count_ret = count;
	return NULL;
}
