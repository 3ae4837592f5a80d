#include "model/segment.h"

/* Loops over the rows of a column are so short that counting them is a third of the work. */
#ifndef __clang__
#pragma GCC optimize("unroll-loops")
#endif

#include <assert.h>

enum { BLOCK = 256 /* rows that stay in the first-level cache from pass to pass */ };

/* The value that a stored 0 stands for, where a column has one. */
static uint64_t column_none(enum model_column column)
{
	return column == MODEL_FREE_THREAD ? MODEL_NO_THREAD : UINT64_MAX;
}

static bool column_may_have_none(enum model_column column)
{
	return column == MODEL_FREE_NS || column == MODEL_FREE_THREAD;
}

size_t segment_room(uint32_t row_count)
{
	/* what a row has at most, by width of the field it comes from, and the alignment */
	const size_t row_bytes = 4 * sizeof(uint64_t) + 5 * sizeof(uint32_t) + 3;

	assert(row_count <= MODEL_SEGMENT);
	return row_count * (row_bytes + sizeof(struct link)) +
	       (size_t)(MODEL_COLUMNS + 1) * SEGMENT_ALIGN;
}

/* Applies `action` to the column's stored value of each row, in a separate loop per column. */
#define EACH_ROW(rows, count, expression, action)                                                  \
	for (size_t i_ = 0; i_ < (count); i_++) {                                                  \
		const struct row *row = &(rows)[i_];                                               \
		const uint64_t value = (expression);                                               \
		action;                                                                            \
	}                                                                                          \
	break

#define EACH_VALUE(column, rows, count, action)                                                    \
	switch (column) {                                                                          \
	case MODEL_ADDRESS:                                                                        \
		EACH_ROW(rows, count, row->address, action);                                       \
	case MODEL_SIZE:                                                                           \
		EACH_ROW(rows, count, row->size, action);                                          \
	case MODEL_USABLE:                                                                         \
		EACH_ROW(rows, count, row->slack, action);                                         \
	case MODEL_ALLOC_NS:                                                                       \
		EACH_ROW(rows, count, row->time, action);                                          \
	case MODEL_FREE_NS:                                                                        \
		EACH_ROW(rows, count, row->free_time, action);                                     \
	case MODEL_THREAD:                                                                         \
		EACH_ROW(rows, count, row->thread, action);                                        \
	case MODEL_FREE_THREAD:                                                                    \
		EACH_ROW(rows, count, row->free_thread, action);                                   \
	case MODEL_STACK:                                                                          \
		EACH_ROW(rows, count, row->stack, action);                                         \
	case MODEL_FREE_STACK:                                                                     \
		EACH_ROW(rows, count, row->free_stack, action);                                    \
	case MODEL_REALLOC_OF:                                                                     \
	case MODEL_CHAIN:   /* links */                                                            \
	case MODEL_LATENCY: /* latencies.c */                                                      \
	case MODEL_FREE_LATENCY:                                                                   \
	case MODEL_POOL: /* table.c */                                                             \
		break;                                                                             \
	case MODEL_FN:                                                                             \
		EACH_ROW(rows, count, row->fn, action);                                            \
	case MODEL_FREE_FN:                                                                        \
		EACH_ROW(rows, count, row->free_fn, action);                                       \
	case MODEL_FLAGS:                                                                          \
		EACH_ROW(rows, count, row->flags, action);                                         \
	}

struct range {
	uint64_t min;
	uint64_t max; /* of those that are not "none" */
	uint64_t none_count;
};

static void range_add(struct range *range, enum model_column column, const struct row *rows,
		      size_t count)
{
	const uint64_t none = column_none(column);
	uint64_t min = range->min, max = range->max, none_count = 0;

	if (column_may_have_none(column)) {
		EACH_VALUE(column, rows, count, {
			const bool is_none = value == none;

			min = value < min ? value : min;
			max = value > max && !is_none ? value : max;
			none_count += is_none;
		});
	} else {
		EACH_VALUE(column, rows, count, {
			min = value < min ? value : min;
			max = value > max ? value : max;
		});
	}
	*range = (struct range) { min, max, range->none_count + none_count };
}

static void usable_bounds(const struct row *rows, size_t count, struct model_bounds *bounds)
{
	for (size_t i = 0; i < count; i++) {
		const uint64_t usable = rows[i].size + rows[i].slack;

		bounds->min = u64_min(bounds->min, usable);
		bounds->max = u64_max(bounds->max, usable);
	}
}

uint8_t segment_width(uint64_t number)
{
	if (number == 0)
		return 0;
	if (number <= UINT8_MAX)
		return 1;
	if (number <= UINT16_MAX)
		return 2;
	return number <= UINT32_MAX ? 4 : 8;
}

static void column_plan(struct segment_column *column, struct model_bounds *bounds,
			const struct range *range, uint64_t none, uint32_t count)
{
	bool has_none = range->none_count > 0;
	bool all_none = range->none_count == count || range->min > range->max; /* or unused */
	uint64_t span = all_none ? 0 : range->max - range->min;

	/* "none" needs one more number: if there is none left, all numbers are values */
	if (has_none && span == UINT64_MAX)
		has_none = false;
	*column = (struct segment_column) {
		.bias = all_none ? 0 : range->min - has_none,
		.has_none = has_none,
		.width = all_none ? 0 : segment_width(span + has_none),
	};
	*bounds = (struct model_bounds) { range->min, range->none_count ? none : range->max };
}

#define STORE(type)                                                                                \
	{                                                                                          \
		type *to_ = (type *)(void *)(out + first * sizeof(type));                          \
		if (has_none) {                                                                    \
			EACH_VALUE(column, rows, count,                                            \
				   to_[i_] = (type)(value == none ? 0 : value - bias));            \
		} else {                                                                           \
			EACH_VALUE(column, rows, count, to_[i_] = (type)(value - bias));           \
		}                                                                                  \
	}                                                                                          \
	break

static void column_store(const struct segment_column *plan, enum model_column column,
			 const struct row *rows, size_t count, uint8_t *out, size_t first)
{
	const uint64_t none = column_none(column), bias = plan->bias;
	const bool has_none = plan->has_none;

	switch (plan->width) {
	case 1:
		STORE(uint8_t);
	case 2:
		STORE(uint16_t);
	case 4:
		STORE(uint32_t);
	case 8:
		STORE(uint64_t);
	default:
		break; /* all values are the same */
	}
}

static void plan_all(struct row *rows, uint32_t count,
		     void (*prepare)(void *context, struct row *rows, size_t count), void *context,
		     struct segment *segment)
{
	struct range ranges[MODEL_COLUMNS];
	struct model_bounds usable = { UINT64_MAX, 0 };

	for (int column = 0; column < MODEL_COLUMNS; column++)
		ranges[column] = (struct range) { UINT64_MAX, 0, 0 };
	for (uint32_t first = 0; first < count; first += BLOCK) {
		size_t part = u64_min(BLOCK, count - first);

		prepare(context, rows + first, part);
		for (int column = 0; column < MODEL_COLUMNS; column++)
			range_add(&ranges[column], (enum model_column)column, rows + first, part);
		usable_bounds(rows + first, part, &usable);
	}
	for (int column = 0; column < MODEL_COLUMNS; column++)
		column_plan(&segment->columns[column], &segment->bounds[column], &ranges[column],
			    column_none((enum model_column)column), count);
	segment->bounds[MODEL_USABLE] = usable;
	segment->columns[MODEL_LATENCY].has_none = segment->columns[MODEL_FREE_LATENCY].has_none =
		true; /* of all rows, until there are patches */
	segment->bounds[MODEL_LATENCY] = segment->bounds[MODEL_FREE_LATENCY] =
		(struct model_bounds) { MODEL_NEVER, MODEL_NEVER };
	segment->bounds[MODEL_REALLOC_OF] = segment->bounds[MODEL_CHAIN] =
		segment->bounds[MODEL_POOL] = (struct model_bounds) { 0, UINT64_MAX };
}

static uint32_t links_store(const struct row *rows, uint32_t count, uint8_t *out)
{
	struct link *links = (struct link *)(void *)out;
	uint32_t link_count = 0;

	for (uint32_t i = 0; i < count; i++)
		if (unlikely(rows[i].chain != ROW_NONE))
			links[link_count++] =
				(struct link) { i, rows[i].realloc_distance, rows[i].chain };
	return link_count;
}

size_t segment_pack(struct row *rows, uint32_t count,
		    void (*prepare)(void *context, struct row *rows, size_t count), void *context,
		    uint8_t *out, struct segment *segment_ret)
{
	struct segment segment = { .row_count = count };
	size_t at = 0;

	assert(count > 0 && count <= MODEL_SEGMENT);
	plan_all(rows, count, prepare, context, &segment);
	for (int column = 0; column < MODEL_COLUMNS; column++) {
		segment.columns[column].offset = at;
		at += (size_t)count * segment.columns[column].width;
		at = (at + SEGMENT_ALIGN - 1) / SEGMENT_ALIGN * SEGMENT_ALIGN;
	}
	segment.links_offset = at;
	segment.link_count = links_store(rows, count, out + at);
	at += segment.link_count * sizeof(struct link);
	assert(at <= segment_room(count));
	for (uint32_t first = 0; first < count; first += BLOCK)
		for (int column = 0; column < MODEL_COLUMNS; column++)
			column_store(&segment.columns[column], (enum model_column)column,
				     rows + first, u64_min(BLOCK, count - first),
				     out + segment.columns[column].offset, first);
	*segment_ret = segment;
	return at;
}

void segment_move(struct segment *segment, uint64_t offset)
{
	assert(offset % SEGMENT_ALIGN == 0);
	for (int column = 0; column < MODEL_COLUMNS; column++)
		segment->columns[column].offset += offset;
	segment->links_offset += offset;
}

static uint64_t patch_value(const struct patch *patch, enum model_column column, uint64_t otherwise)
{
	switch (column) {
	case MODEL_FREE_NS:
		return patch->time;
	case MODEL_FREE_THREAD:
		return patch->thread;
	case MODEL_FREE_STACK:
		return patch->stack;
	case MODEL_FREE_FN:
		return patch->fn;
	case MODEL_FLAGS:
		return patch->flags;
	case MODEL_CHAIN:
		return patch->chain == ROW_NONE ? otherwise : patch->chain;
	default:
		return otherwise;
	}
}

void segment_bound_patches(struct segment *segment, const struct patch *patches, uint8_t *patched)
{
	assert(segment->patch_count <= MODEL_SEGMENT);
	memset(patched, 0, PATCHED_BYTES);
	for (uint32_t i = 0; i < segment->patch_count; i++)
		patched[patches[i].row / 8] |= (uint8_t)(1 << patches[i].row % 8);
	for (int column = 0; column < MODEL_COLUMNS; column++) {
		struct model_bounds *bounds = &segment->bounds[column];

		for (uint32_t i = 0; i < segment->patch_count; i++) {
			uint64_t value =
				patch_value(&patches[i], (enum model_column)column, bounds->min);

			bounds->min = u64_min(bounds->min, value);
			bounds->max = u64_max(bounds->max, value);
		}
	}
}

static bool part_is_sound(uint64_t offset, uint64_t bytes, uint64_t file_bytes)
{
	return offset % 8 == 0 && offset <= file_bytes && bytes <= file_bytes - offset;
}

bool segment_column_is_sound(const struct segment_column *column, uint64_t count,
			     uint64_t file_bytes)
{
	return (column->width & (column->width - 1)) == 0 && column->width <= 8 &&
	       part_is_sound(column->offset, count * column->width, file_bytes);
}

bool segment_is_sound(const struct segment *segment, uint64_t file_bytes)
{
	uint64_t count = segment->row_count;
	bool sound = count > 0 && count <= MODEL_SEGMENT;

	for (int i = 0; i < MODEL_COLUMNS; i++)
		sound &= segment_column_is_sound(&segment->columns[i], count, file_bytes);
	sound &= part_is_sound(segment->patches_offset,
			       segment->patch_count * (uint64_t)sizeof(struct patch), file_bytes);
	sound &= segment->patch_count == 0 ||
		 part_is_sound(segment->patched_offset, PATCHED_BYTES, file_bytes);
	return sound &&
	       part_is_sound(segment->links_offset,
			     segment->link_count * (uint64_t)sizeof(struct link), file_bytes);
}

static const struct patch *segment_patches(const struct segment *segment, const uint8_t *file)
{
	return (const struct patch *)(const void *)(file + segment->patches_offset);
}

static const struct link *segment_links(const struct segment *segment, const uint8_t *file)
{
	return (const struct link *)(const void *)(file + segment->links_offset);
}

/* The first of `count` items, sorted by row, for this row or a later one. */
#define FIRST_AT(items, count, wanted)                                                             \
	({                                                                                         \
		uint32_t low_ = 0, high_ = (count);                                                \
		while (low_ < high_) {                                                             \
			uint32_t middle_ = low_ + (high_ - low_) / 2;                              \
			if ((items)[middle_].row < (wanted))                                       \
				low_ = middle_ + 1;                                                \
			else                                                                       \
				high_ = middle_;                                                   \
		}                                                                                  \
		low_;                                                                              \
	})

static bool is_patched(const struct segment *segment, enum model_column column)
{
	return segment->patch_count > 0 &&
	       (column == MODEL_FREE_NS || column == MODEL_FREE_THREAD ||
		column == MODEL_FREE_STACK || column == MODEL_FREE_FN || column == MODEL_FLAGS ||
		column == MODEL_CHAIN);
}

static void apply_patches(const struct segment *segment, const uint8_t *file,
			  enum model_column column, uint32_t first, size_t count, uint64_t *values)
{
	const struct patch *patches = segment_patches(segment, file);
	uint32_t i = FIRST_AT(patches, segment->patch_count, first);

	for (; i < segment->patch_count; i++) {
		uint64_t at = (uint64_t)patches[i].row - first;

		if (at >= count)
			break;
		values[at] = patch_value(&patches[i], column, values[at]);
	}
}

#define WIDEN(type)                                                                                \
	{                                                                                          \
		const type *from_ = (const type *)(const void *)numbers + first;                   \
		for (size_t i = 0; i < count; i++)                                                 \
			values[i] = from_[i] + bias;                                               \
	}                                                                                          \
	break

void segment_column_read(const struct segment_column *column, const uint8_t *file, uint64_t first,
			 size_t count, uint64_t *values)
{
	const uint8_t *numbers = file + column->offset;
	const uint64_t bias = column->bias;

	switch (column->width) {
	case 1:
		WIDEN(uint8_t);
	case 2:
		WIDEN(uint16_t);
	case 4:
		WIDEN(uint32_t);
	case 8:
		WIDEN(uint64_t);
	default:
		for (size_t i = 0; i < count; i++)
			values[i] = bias;
	}
}

static uint64_t link_value(const struct link *link, enum model_column column)
{
	return column == MODEL_CHAIN ? link->chain : link->realloc_distance;
}

static void read_links(const struct segment *segment, const uint8_t *file, enum model_column column,
		       uint32_t first, size_t count, uint64_t *values)
{
	const struct link *links = segment_links(segment, file);
	const uint64_t otherwise = column == MODEL_CHAIN ? MODEL_NO_CHAIN : 0;
	uint32_t i = FIRST_AT(links, segment->link_count, first);

	for (size_t k = 0; k < count; k++)
		values[k] = otherwise;
	for (; i < segment->link_count; i++) {
		uint64_t at = (uint64_t)links[i].row - first;

		if (at >= count)
			break;
		values[at] = link_value(&links[i], column);
	}
}

void segment_read(const struct segment *segment, const uint8_t *file, enum model_column column,
		  uint32_t first, size_t count, uint64_t *values)
{
	const struct segment_column *stored = &segment->columns[column];
	const uint64_t bias = stored->bias, none = column_none(column);

	assert((unsigned)column < MODEL_COLUMNS);
	assert(first + count <= segment->row_count);
	if (column == MODEL_CHAIN || column == MODEL_REALLOC_OF) {
		read_links(segment, file, column, first, count, values);
	} else {
		segment_column_read(stored, file, first, count, values);
		for (size_t i = 0; i < count && stored->has_none; i++)
			values[i] = values[i] == bias ? none : values[i];
	}
	if (is_patched(segment, column))
		apply_patches(segment, file, column, first, count, values);
}

static uint64_t get_link(const struct segment *segment, const uint8_t *file,
			 enum model_column column, uint32_t row)
{
	const struct link *links = segment_links(segment, file);
	const uint32_t at = FIRST_AT(links, segment->link_count, row);

	if (at < segment->link_count && links[at].row == row)
		return link_value(&links[at], column);
	return column == MODEL_CHAIN ? MODEL_NO_CHAIN : 0;
}

static uint64_t get_number(const struct segment_column *stored, const uint8_t *file, uint32_t row)
{
	const uint8_t *at = file + stored->offset + (size_t)row * stored->width;

	switch (stored->width) {
	case 1:
		return *at;
	case 2:
		return arch_little_u16(load_u16(at)); /* columns are in this processor's order */
	case 4:
		return arch_little_u32(load_u32(at));
	case 8:
		return arch_little_u64(load_u64(at));
	default:
		return 0;
	}
}

static uint64_t get_patched(const struct segment *segment, const uint8_t *file,
			    enum model_column column, uint32_t row, uint64_t value)
{
	const struct patch *patches = segment_patches(segment, file);
	uint32_t at;

	if (!(file[segment->patched_offset + row / 8] >> row % 8 & 1))
		return value;
	at = FIRST_AT(patches, segment->patch_count, row);
	if (at < segment->patch_count && patches[at].row == row)
		return patch_value(&patches[at], column, value);
	return value;
}

uint64_t segment_get(const struct segment *segment, const uint8_t *file, enum model_column column,
		     uint32_t row)
{
	const struct segment_column *stored = &segment->columns[column];
	uint64_t value;

	assert((unsigned)column < MODEL_COLUMNS);
	assert(row < segment->row_count);
	if (column == MODEL_CHAIN || column == MODEL_REALLOC_OF) {
		value = get_link(segment, file, column, row);
	} else {
		uint64_t number = get_number(stored, file, row);

		value = stored->has_none && number == 0 ? column_none(column)
							: number + stored->bias;
	}
	if (is_patched(segment, column))
		value = get_patched(segment, file, column, row, value);
	return value;
}
