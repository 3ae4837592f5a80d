#include <assert.h>

#include "capture/columns.h"

struct needs {
	uint64_t bytes[COLUMN_COUNT];
	uint64_t used;
	uint64_t event_count;
	uint64_t extended_count;
};

/* Column bytes needed by `count` records with this control word. */
static bool need_records(struct needs *needs, const struct columns *columns, unsigned ctrl,
			 uint32_t count)
{
	const struct column_shape *shape = column_shape_of(columns, ctrl);

	if ((ctrl & 63) == TAPE_FN_EXTENDED) {
		needs->extended_count += count;
		needs->used += (uint64_t)count * 2;
		return true;
	}
	for (int field = 0; field < TAPE_FIELD_COUNT; field++)
		needs->bytes[shape->column[field]] += (uint64_t)count * shape->length[field];
	needs->used += (uint64_t)count * shape->total;
	needs->event_count += (ctrl & 63) < TAPE_FN_COUNT ? count : 0;
	return column_is_regular(ctrl);
}

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

static bool need_extended(struct needs *needs, const struct columns *columns)
{
	uint64_t *at = &needs->bytes[COLUMN_EXTENDED];

	for (uint64_t i = 0; i < needs->extended_count; i++) {
		size_t length = extended_length(&columns->column[COLUMN_EXTENDED], *at);

		if (length == 0)
			return false;
		*at += length;
		needs->used += length;
	}
	return true;
}

static bool need_words(struct needs *needs, const struct columns *columns)
{
	const struct column_bytes *words = &columns->column[COLUMN_WORDS];
	const struct column_bytes *codes = &columns->column[COLUMN_CODES];
	const struct column_bytes *rare = &columns->column[COLUMN_RARE];
	uint32_t counts[256] = { 0 };

	for (uint32_t i = 0; i < codes->bytes; i++)
		counts[codes->ptr[i]]++;
	if (words->bytes % 2 != 0 || words->bytes > 2 * COLUMN_CODE_RARE ||
	    rare->bytes != (uint64_t)counts[COLUMN_CODE_RARE] * 2)
		return false;
	for (uint32_t i = words->bytes / 2; i < COLUMN_CODE_RARE; i++)
		if (counts[i] > 0)
			return false;
	for (uint32_t i = 0; i < words->bytes; i += 2)
		if (!need_records(needs, columns, load_u16(words->ptr + i), counts[i / 2]))
			return false;
	for (uint32_t i = 0; i < rare->bytes; i += 2)
		if (!need_records(needs, columns, load_u16(rare->ptr + i), 1))
			return false;
	return true;
}

bool columns_are_sound(const struct columns *columns, const struct tape_chunk *header,
		       uint32_t chunk_bytes)
{
	struct needs needs = { .used = 0 };

	if (!chunk_fits(header, chunk_bytes) || !need_words(&needs, columns) ||
	    !need_extended(&needs, columns))
		return false;
	for (int i = COLUMN_FIELD; i < COLUMN_NODE_RUN; i++)
		if (needs.bytes[i] != columns->column[i].bytes)
			return false;
	if (needs.bytes[COLUMN_LATENCY] != columns->column[COLUMN_LATENCY].bytes ||
	    needs.bytes[COLUMN_LATENCY_LONG] != columns->column[COLUMN_LATENCY_LONG].bytes)
		return false;
	return needs.used == header->used && needs.event_count == header->event_count;
}

struct join {
	const uint8_t *in[COLUMN_COUNT];
	const struct column_shape *shape[COLUMN_CODE_RARE]; /* by code; NULL: extended */
	uint8_t *out;
	uint8_t *end;
};

/* Copies more bytes than needed while there is room. */
static inline void join_event(struct join *join, const struct column_shape *shape)
{
	uint8_t *out = join->out + 2;
	bool has_room = join->end - join->out >= TAPE_EVENT_ROOM;

	for (int field = 0; field < TAPE_FIELD_COUNT; field++) {
		const uint8_t **from = &join->in[shape->column[field]];
		unsigned length = shape->length[field];

		if (likely(has_room))
			store_u64(out, load_u64(*from));
		else
			memcpy(out, *from, length);
		*from += length;
		out += length;
	}
	join->out = out;
}

static void join_extended(struct join *join)
{
	size_t bytes = TAPE_EXTENDED_BYTES - 2 + load_u32(join->in[COLUMN_EXTENDED] + 2);

	memcpy(join->out + 2, join->in[COLUMN_EXTENDED], bytes);
	join->in[COLUMN_EXTENDED] += bytes;
	join->out += 2 + bytes;
}

void columns_join(const struct columns *columns, struct tape_chunk *chunk)
{
	const uint8_t *words = columns->column[COLUMN_WORDS].ptr;
	struct join join = { .out = (uint8_t *)(chunk + 1) };

	join.end = join.out + chunk->used;
	for (int i = 0; i < COLUMN_COUNT; i++)
		join.in[i] = columns->column[i].ptr;
	for (uint32_t i = 0; i < columns->column[COLUMN_WORDS].bytes / 2; i++) {
		unsigned ctrl = load_u16(words + i * 2);

		if ((ctrl & 63) != TAPE_FN_EXTENDED)
			join.shape[i] = column_shape_of(columns, ctrl);
	}
	for (uint32_t i = 0; i < columns->column[COLUMN_CODES].bytes; i++) {
		unsigned code = join.in[COLUMN_CODES][i], ctrl;
		const struct column_shape *shape;

		if (likely(code != COLUMN_CODE_RARE)) {
			ctrl = load_u16(words + code * 2);
			shape = join.shape[code];
		} else {
			ctrl = load_u16(join.in[COLUMN_RARE]);
			join.in[COLUMN_RARE] += 2;
			shape = (ctrl & 63) == TAPE_FN_EXTENDED ? NULL
								: column_shape_of(columns, ctrl);
		}
		store_u16(join.out, (uint16_t)ctrl);
		if (likely(shape))
			join_event(&join, shape);
		else
			join_extended(&join);
	}
	assert(join.out == join.end);
}
