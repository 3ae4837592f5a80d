#include "capture/columns.h"

#include <assert.h>

enum {
	TAIL_BYTES = 2 * TAPE_EVENT_ROOM,
	SET_SKEW_BYTES = 5 * 64 /* columns advance in step: keep them out of the same cache sets */
};

void columns_deinit(struct columns *columns)
{
	free(columns->memory);
	*columns = (struct columns) { 0 };
}

/* A latency is a record with a single field, where events have their time. */
static void fill_latency_shapes(struct columns *columns)
{
	for (unsigned code = 0; code < 4; code++) {
		const unsigned bytes = tape_latency_bytes(TAPE_FN_LATENCY | code << 6);
		struct column_shape shape = { .total = (uint8_t)(2 + bytes) };

		for (int field = 0; field < TAPE_FIELD_COUNT; field++) {
			shape.offset[field] = 2;
			shape.column[field] = COLUMN_LATENCY;
		}
		shape.length[TAPE_FIELD_TIME] = (uint8_t)bytes;
		shape.column[TAPE_FIELD_TIME] = bytes == 2 ? COLUMN_LATENCY : COLUMN_LATENCY_LONG;
		columns->shape[COLUMN_SHAPE_LATENCY | code] = shape;
	}
}

static void fill_shapes(struct columns *columns)
{
	fill_latency_shapes(columns);
	for (unsigned i = 0; i < COLUMN_SHAPE_LATENCY; i++) {
		unsigned ctrl = (i >> 1) << 6 | (i & 1 ? TAPE_FN_FREE : TAPE_FN_MALLOC);
		struct column_shape *shape = &columns->shape[i];

		shape->total = 2;
		for (int field = 0; field < TAPE_FIELD_COUNT; field++) {
			unsigned code = column_field_code(ctrl, field);

			shape->offset[field] = shape->total;
			shape->length[field] = (uint8_t)tape_field_bytes(field, code);
			shape->column[field] = (uint8_t)(COLUMN_FIELD + field * 4 + (int)code);
			shape->total = (uint8_t)(shape->total + shape->length[field]);
		}
	}
}

bool columns_reserve(struct columns *columns, uint32_t chunk_bytes)
{
	size_t room = (size_t)chunk_bytes + COLUMN_PAD + SET_SKEW_BYTES;

	assert(chunk_bytes >= sizeof(struct tape_chunk));
	if (columns->memory && columns->room >= room)
		return true;
	free(columns->memory);
	/* Mostly never touched, and untouched memory costs nothing. */
	columns->memory = malloc(room * (COLUMN_COUNT + COLUMN_OVERRUN));
	if (!columns->memory)
		return false;
	columns->room = (uint32_t)room;
	columns->spare = columns->memory + room * COLUMN_COUNT;
	fill_shapes(columns);
	for (int i = 0; i < COLUMN_COUNT; i++)
		columns->column[i] =
			(struct column_bytes) { .ptr = columns->memory + room * (size_t)i };
	return true;
}

struct split {
	uint8_t *out[COLUMN_COUNT];
	struct column_shape shape[COLUMN_CODE_RARE]; /* by code */
	struct columns *columns;
	uint32_t word_count;
	uint32_t extended_count;
};

static inline void split_field(struct split *split, const uint8_t *in,
			       const struct column_shape *shape, enum tape_field field)
{
	uint8_t **out = &split->out[shape->column[field]];
	uint8_t *at = *out;

	store_u64(at, load_u64(in + shape->offset[field]));
	*out = at + shape->length[field];
}

/* Slack has a branch because a target's allocator has it nearly always or nearly never. */
static inline void split_event(struct split *split, const uint8_t *in,
			       const struct column_shape *shape)
{
	if (likely(shape->length[TAPE_FIELD_TIME] == 1))
		*split->out[COLUMN_FIELD]++ = in[2];
	else
		split_field(split, in, shape, TAPE_FIELD_TIME);
	split_field(split, in, shape, TAPE_FIELD_ADDRESS);
	split_field(split, in, shape, TAPE_FIELD_SIZE);
	if (shape->length[TAPE_FIELD_SLACK])
		split_field(split, in, shape, TAPE_FIELD_SLACK);
	split_field(split, in, shape, TAPE_FIELD_STACK);
}

/* Length of the record at in, 0: it does not end before `end`, or is not a record. */
static size_t record_length(const struct split *split, const uint8_t *in, const uint8_t *end)
{
	unsigned ctrl = load_u16(in);
	size_t rest = (size_t)(end - in), bytes = TAPE_EXTENDED_BYTES;

	if (column_is_regular(ctrl))
		bytes = column_shape_of(split->columns, ctrl)->total;
	else if ((ctrl & 63) != TAPE_FN_EXTENDED || rest < TAPE_EXTENDED_BYTES ||
		 load_u32(in + 4) > rest - TAPE_EXTENDED_BYTES)
		return 0;
	else
		bytes += load_u32(in + 4);
	return bytes <= rest ? bytes : 0;
}

/* Assigns a code to a control word. Extended records vary in length: they get none. */
static void add_word(struct split *split, unsigned ctrl)
{
	const bool is_regular = column_is_regular(ctrl);
	const struct column_shape *shape = column_shape_of(split->columns, ctrl);
	unsigned code = split->word_count++;

	if (is_regular)
		split->shape[code] = *shape;
	split->columns->entry[ctrl] = (uint16_t)((is_regular ? shape->total << 8 : 0) | (code + 1));
	store_u16(split->out[COLUMN_WORDS], (uint16_t)ctrl);
	split->out[COLUMN_WORDS] += 2;
}

/* An extended record, or one whose control word has no code. NULL: it is broken. */
static const uint8_t *split_rare(struct split *split, const uint8_t *in, const uint8_t *end)
{
	size_t bytes = record_length(split, in, end);
	unsigned ctrl = load_u16(in);

	if (bytes == 0)
		return NULL;
	if (!split->columns->entry[ctrl] && split->word_count < COLUMN_CODE_RARE)
		add_word(split, ctrl);
	if (!split->columns->entry[ctrl]) {
		store_u16(split->out[COLUMN_RARE], (uint16_t)ctrl);
		split->out[COLUMN_RARE] += 2;
	}
	*split->out[COLUMN_CODES]++ = (uint8_t)(split->columns->entry[ctrl] - 1);
	if (column_is_regular(ctrl)) {
		split_event(split, in, column_shape_of(split->columns, ctrl));
	} else {
		memcpy(split->out[COLUMN_EXTENDED], in + 2, bytes - 2);
		split->out[COLUMN_EXTENDED] += bytes - 2;
		split->extended_count++;
	}
	return in + bytes;
}

/*
 * Whole records from in on; in[0 .. end - in + 63] is readable. Returns where it stopped. The
 * dependency from record to record is a single lookup: that is what bounds the speed.
 */
static const uint8_t *split_records(struct split *split, const uint8_t *in, const uint8_t *end,
				    const uint8_t *soft_end)
{
	const uint16_t *const entries = split->columns->entry;
	uint8_t *codes = split->out[COLUMN_CODES];

	while (in < soft_end) {
		unsigned entry = entries[load_u16(in)];

		if (unlikely(entry >> 8 == 0 || (size_t)(end - in) < entry >> 8)) {
			const uint8_t *next;

			split->out[COLUMN_CODES] = codes;
			next = split_rare(split, in, end);
			codes = split->out[COLUMN_CODES];
			if (!next)
				break;
			in = next;
			continue;
		}
		*codes++ = (uint8_t)(entry - 1);
		split_event(split, in, &split->shape[(entry & 0xff) - 1]);
		in += entry >> 8;
	}
	split->out[COLUMN_CODES] = codes;
	return in;
}

static void forget_words(struct columns *columns)
{
	const struct column_bytes *words = &columns->column[COLUMN_WORDS];

	for (uint32_t i = 0; i < words->bytes; i += 2)
		columns->entry[load_u16(words->ptr + i)] = 0;
}

struct columns_counts columns_split(struct columns *columns, const struct tape_chunk *chunk,
				    uint32_t chunk_bytes)
{
	const uint8_t *begin = chunk_records(chunk), *end = begin + chunk->used, *in;
	/* The last records are read from a copy, because whole words are loaded. */
	const uint8_t *fast_end = chunk->used > TAIL_BYTES ? end - TAIL_BYTES : begin;
	uint8_t tail[TAIL_BYTES + TAPE_EVENT_ROOM] = { 0 };
	struct split split;
	size_t rest;

	assert(chunk_fits(chunk, chunk_bytes));
	assert(columns->room >= chunk_bytes + COLUMN_PAD);
	split.columns = columns;
	split.word_count = split.extended_count = 0;
	for (int i = 0; i < COLUMN_COUNT; i++)
		split.out[i] = columns->column[i].ptr;
	in = split_records(&split, begin, end, fast_end);
	rest = (size_t)(end - in);
	if (in >= fast_end && rest > 0) {
		memcpy(tail, in, rest);
		in += split_records(&split, tail, tail + rest, tail + rest) - tail;
	}
	for (int i = 0; i < COLUMN_COUNT; i++) /* those of nodes come after it */
		columns->column[i].bytes = (uint32_t)(split.out[i] - columns->column[i].ptr);
	forget_words(columns);
	columns_split_nodes(columns, chunk, chunk_bytes);
	return (struct columns_counts) {
		.used = (uint32_t)(in - begin),
		.event_count = columns->column[COLUMN_CODES].bytes - split.extended_count -
			       columns_latency_count(columns),
	};
}
