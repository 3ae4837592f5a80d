#include "capture/columns.h"

#include <assert.h>

enum { TAIL_BYTES = 2 * TAPE_EVENT_ROOM };

void columns_deinit(struct columns *columns)
{
	free(columns->memory);
	*columns = (struct columns) { 0 };
}

/* Length codes of a control word by field; frees have neither size nor slack, whatever it says. */
static inline unsigned field_code(unsigned ctrl, enum tape_field field)
{
	unsigned code = ctrl >> (6 + 2 * field) & 3;

	if (field == TAPE_FIELD_SIZE || field == TAPE_FIELD_SLACK)
		code &= 3 * !tape_fn_sizeless(ctrl & 63);
	return code;
}

static inline unsigned field_length(enum tape_field field, unsigned code)
{
	static const uint16_t lengths[] = { TAPE_TIME_LENGTHS, TAPE_ADDRESS_LENGTHS,
					    TAPE_SIZE_LENGTHS, TAPE_SLACK_LENGTHS,
					    TAPE_STACK_LENGTHS };

	return lengths[field] >> code * 4 & 15;
}

static inline unsigned event_length(unsigned ctrl)
{
	unsigned length = 2;

	for (int field = 0; field < TAPE_FIELD_COUNT; field++)
		length += field_length(field, field_code(ctrl, field));
	return length;
}

static inline unsigned shape_index(unsigned ctrl)
{
	return (ctrl >> 6) << 1 | tape_fn_sizeless(ctrl & 63);
}

static void fill_shapes(struct columns *columns)
{
	for (unsigned i = 0; i < COLUMN_SHAPE_COUNT; i++) {
		unsigned ctrl = (i >> 1) << 6 | (i & 1 ? TAPE_FN_FREE : TAPE_FN_MALLOC);
		struct column_shape *shape = &columns->shape[i];

		shape->total = 2;
		for (int field = 0; field < TAPE_FIELD_COUNT; field++) {
			unsigned code = field_code(ctrl, field);

			shape->offset[field] = shape->total;
			shape->length[field] = (uint8_t)field_length(field, code);
			shape->column[field] = (uint8_t)(COLUMN_FIELD + field * 4 + (int)code);
			shape->total = (uint8_t)(shape->total + shape->length[field]);
		}
	}
}

bool columns_reserve(struct columns *columns, uint32_t chunk_bytes)
{
	size_t room = (size_t)chunk_bytes + COLUMN_PAD;

	if (columns->memory && columns->room >= room)
		return true;
	free(columns->memory);
	/* Mostly never touched, and memory that is not touched costs nothing. */
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
	const struct column_shape *shape;
	uint8_t *out[COLUMN_COUNT];
	uint32_t event_count;
};

static inline void split_field(struct split *split, const uint8_t *in,
			       const struct column_shape *shape, enum tape_field field)
{
	uint8_t **out = &split->out[shape->column[field]];
	uint8_t *at = *out;

	store_u64(at, load_u64(in + shape->offset[field]));
	*out = at + shape->length[field];
}

/*
 * Half of what a collector costs is here. From one record to the next leads one look-up only; slack
 * is left out by a branch because a target's allocator has it nearly always or nearly never.
 */
static inline const uint8_t *split_event(struct split *split, const uint8_t *in, unsigned ctrl)
{
	const struct column_shape *shape = &split->shape[shape_index(ctrl)];

	split_field(split, in, shape, TAPE_FIELD_TIME);
	split_field(split, in, shape, TAPE_FIELD_ADDRESS);
	split_field(split, in, shape, TAPE_FIELD_SIZE);
	if (shape->length[TAPE_FIELD_SLACK])
		split_field(split, in, shape, TAPE_FIELD_SLACK);
	split_field(split, in, shape, TAPE_FIELD_STACK);
	split->event_count++;
	return in + shape->total;
}

/* NULL: the record does not end before `end`. */
static const uint8_t *split_extended(struct split *split, const uint8_t *in, const uint8_t *end)
{
	size_t rest = (size_t)(end - in);
	size_t bytes;

	if (rest < TAPE_EXTENDED_BYTES || load_u32(in + 4) > rest - TAPE_EXTENDED_BYTES)
		return NULL;
	bytes = TAPE_EXTENDED_BYTES - 2 + load_u32(in + 4);
	memcpy(split->out[COLUMN_EXTENDED], in + 2, bytes);
	split->out[COLUMN_EXTENDED] += bytes;
	return in + 2 + bytes;
}

/* Whole records from in on; in[0 .. end - in + 63] is readable. Returns where it stopped. */
static const uint8_t *split_records(struct split *split, const uint8_t *in, const uint8_t *end,
				    const uint8_t *soft_end)
{
	while (in < soft_end) {
		unsigned ctrl = load_u16(in), fn = ctrl & 63;
		const uint8_t *next;

		if (fn < TAPE_FN_COUNT) {
			if (unlikely(end - in < TAPE_EVENT_ROOM) &&
			    end - in < (ptrdiff_t)event_length(ctrl))
				break;
			next = split_event(split, in, ctrl);
		} else {
			next = fn == TAPE_FN_EXTENDED ? split_extended(split, in, end) : NULL;
			if (!next)
				break;
		}
		*split->out[COLUMN_CONTROL_LOW]++ = (uint8_t)ctrl;
		*split->out[COLUMN_CONTROL_HIGH]++ = (uint8_t)(ctrl >> 8);
		in = next;
	}
	return in;
}

static void split_nodes(struct columns *columns, const struct tape_chunk *chunk,
			uint32_t chunk_bytes)
{
	uint32_t count = chunk->node_count;
	uint8_t *parent = columns->column[COLUMN_NODE_PARENT].ptr;
	uint8_t *pc_low = columns->column[COLUMN_NODE_PC_LOW].ptr;
	uint8_t *pc_high = columns->column[COLUMN_NODE_PC_HIGH].ptr;

	for (uint32_t i = 0; i < count; i++) {
		struct tape_node node;
		uint32_t delta;

		memcpy(&node, chunk_node(chunk, chunk_bytes, i), sizeof(node));
		delta = chunk->first_node + i - node.parent;
		for (unsigned plane = 0; plane < 4; plane++)
			parent[plane * count + i] = (uint8_t)(delta >> plane * 8);
		store_u32(pc_low + (size_t)i * 4, node.pc_low);
		store_u32(pc_high + (size_t)i * 4, node.pc_high);
	}
	columns->column[COLUMN_NODE_PARENT].bytes = count * 4;
	columns->column[COLUMN_NODE_PC_LOW].bytes = count * 4;
	columns->column[COLUMN_NODE_PC_HIGH].bytes = count * 4;
}

struct columns_counts columns_split(struct columns *columns, const struct tape_chunk *chunk,
				    uint32_t chunk_bytes)
{
	const uint8_t *begin = chunk_records(chunk), *end = begin + chunk->used, *in;
	/* The last records are read from a copy, because whole words are loaded. */
	const uint8_t *fast_end = chunk->used > TAIL_BYTES ? end - TAIL_BYTES : begin;
	uint8_t tail[TAIL_BYTES + TAPE_EVENT_ROOM] = { 0 };
	struct split split = { .shape = columns->shape };
	size_t rest;

	assert(chunk_fits(chunk, chunk_bytes));
	assert(columns->room >= chunk_bytes + COLUMN_PAD);
	for (int i = 0; i < COLUMN_COUNT; i++)
		split.out[i] = columns->column[i].ptr;
	in = split_records(&split, begin, end, fast_end);
	rest = (size_t)(end - in);
	if (in >= fast_end && rest > 0) {
		memcpy(tail, in, rest);
		in += split_records(&split, tail, tail + rest, tail + rest) - tail;
	}
	for (int i = 0; i < COLUMN_NODE_PARENT; i++)
		columns->column[i].bytes = (uint32_t)(split.out[i] - columns->column[i].ptr);
	split_nodes(columns, chunk, chunk_bytes);
	return (struct columns_counts) { .used = (uint32_t)(in - begin),
					 .event_count = split.event_count };
}

struct needs {
	uint64_t bytes[COLUMN_COUNT];
	uint64_t used;
	uint64_t event_count;
};

/* Length of the extended record (without control word) at `at` of the column, 0: it is broken. */
static size_t extended_length(const struct column_bytes *column, uint64_t at)
{
	uint64_t rest = column->bytes - at;
	uint32_t payload;

	if (rest < TAPE_EXTENDED_BYTES - 2)
		return 0;
	payload = load_u32(column->ptr + at + 2);
	if (payload > rest - (TAPE_EXTENDED_BYTES - 2))
		return 0;
	return TAPE_EXTENDED_BYTES - 2 + (size_t)payload;
}

static bool need_record(struct needs *needs, const struct columns *columns, unsigned ctrl)
{
	unsigned fn = ctrl & 63;
	size_t length = 0;

	needs->used += 2;
	if (fn == TAPE_FN_EXTENDED) {
		length = extended_length(&columns->column[COLUMN_EXTENDED],
					 needs->bytes[COLUMN_EXTENDED]);
		needs->bytes[COLUMN_EXTENDED] += length;
		needs->used += length;
		return length > 0;
	}
	for (int field = 0; field < TAPE_FIELD_COUNT; field++) {
		unsigned code = field_code(ctrl, field);

		length = field_length(field, code);
		needs->bytes[COLUMN_FIELD + field * 4 + (int)code] += length;
		needs->used += length;
	}
	needs->event_count++;
	return fn < TAPE_FN_COUNT;
}

bool columns_are_sound(const struct columns *columns, const struct tape_chunk *header,
		       uint32_t chunk_bytes)
{
	const struct column_bytes *column = columns->column;
	struct needs needs = { .used = 0 };

	if (!chunk_fits(header, chunk_bytes) ||
	    column[COLUMN_CONTROL_LOW].bytes != column[COLUMN_CONTROL_HIGH].bytes)
		return false;
	for (uint32_t i = 0; i < column[COLUMN_CONTROL_LOW].bytes; i++) {
		unsigned ctrl = column[COLUMN_CONTROL_LOW].ptr[i] |
				(unsigned)column[COLUMN_CONTROL_HIGH].ptr[i] << 8;

		if (!need_record(&needs, columns, ctrl))
			return false;
	}
	for (int i = COLUMN_FIELD; i < COLUMN_NODE_PARENT; i++)
		if (needs.bytes[i] != column[i].bytes)
			return false;
	for (int i = COLUMN_NODE_PARENT; i < COLUMN_COUNT; i++)
		if (column[i].bytes != (uint64_t)header->node_count * 4)
			return false;
	return needs.used == header->used && needs.event_count == header->event_count;
}

static uint8_t *join_event(const uint8_t *in[COLUMN_COUNT], uint8_t *out, unsigned ctrl)
{
	for (int field = 0; field < TAPE_FIELD_COUNT; field++) {
		unsigned code = field_code(ctrl, field);
		unsigned length = field_length(field, code);
		const uint8_t **from = &in[COLUMN_FIELD + field * 4 + (int)code];

		memcpy(out, *from, length);
		*from += length;
		out += length;
	}
	return out;
}

void columns_join_nodes(const struct columns *columns, struct tape_chunk *chunk,
			uint32_t chunk_bytes)
{
	const uint8_t *parent = columns->column[COLUMN_NODE_PARENT].ptr;
	const uint8_t *pc_low = columns->column[COLUMN_NODE_PC_LOW].ptr;
	const uint8_t *pc_high = columns->column[COLUMN_NODE_PC_HIGH].ptr;
	uint32_t count = chunk->node_count;
	uint8_t *out = (uint8_t *)chunk + chunk_bytes;

	for (uint32_t i = 0; i < count; i++) {
		struct tape_node node = { .pc_low = load_u32(pc_low + (size_t)i * 4),
					  .pc_high = load_u32(pc_high + (size_t)i * 4) };
		uint32_t delta = 0;

		for (unsigned plane = 0; plane < 4; plane++)
			delta |= (uint32_t)parent[plane * count + i] << plane * 8;
		node.parent = chunk->first_node + i - delta;
		out -= sizeof(node);
		memcpy(out, &node, sizeof(node));
	}
}

void columns_join(const struct columns *columns, struct tape_chunk *chunk, uint32_t chunk_bytes)
{
	const uint8_t *in[COLUMN_COUNT];
	uint8_t *out = (uint8_t *)(chunk + 1);

	assert(chunk_fits(chunk, chunk_bytes));
	for (int i = 0; i < COLUMN_COUNT; i++)
		in[i] = columns->column[i].ptr;
	for (uint32_t i = 0; i < columns->column[COLUMN_CONTROL_LOW].bytes; i++) {
		unsigned ctrl = in[COLUMN_CONTROL_LOW][i] | (unsigned)in[COLUMN_CONTROL_HIGH][i]
								    << 8;

		store_u16(out, (uint16_t)ctrl);
		out += 2;
		if ((ctrl & 63) == TAPE_FN_EXTENDED) {
			size_t bytes = TAPE_EXTENDED_BYTES - 2 + load_u32(in[COLUMN_EXTENDED] + 2);

			memcpy(out, in[COLUMN_EXTENDED], bytes);
			in[COLUMN_EXTENDED] += bytes;
			out += bytes;
		} else {
			out = join_event(in, out, ctrl);
		}
	}
	assert(out == chunk_records(chunk) + chunk->used);
	columns_join_nodes(columns, chunk, chunk_bytes);
}
