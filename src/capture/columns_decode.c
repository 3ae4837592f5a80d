/*
 * Columns -> events, without putting the records together in between.
 *
 * Nothing is checked on the way: the control words of one chunk can ask for at most 8 bytes a
 * record of any column, and so much is readable behind the last one (COLUMN_OVERRUN). Whether every
 * column held exactly what was asked for is seen at the end, and if not, all of it is thrown away.
 */
#include <assert.h>

#include "capture/chunk.h"
#include "capture/columns.h"

struct cursor {
	const uint8_t *ptr[TAPE_FIELD_COUNT * 4];
	struct tape_codec_state codec;
};

static inline uint64_t field_take(struct cursor *cursor, enum tape_field field, unsigned lengths,
				  unsigned code)
{
	static const uint64_t masks[] = { [0] = 0,	  [1] = 0xff,	    [2] = 0xffff,
					  [3] = 0xffffff, [4] = 0xffffffff, [8] = UINT64_MAX };
	const uint8_t **ptr = &cursor->ptr[(unsigned)field * 4 + code];
	unsigned bytes = lengths >> code * 4 & 15;
	uint64_t value = load_u64(*ptr) & masks[bytes];

	*ptr += bytes;
	return value;
}

/* As event_decode of chunk.c, each field from its column. */
static inline void event_take(struct cursor *cursor, unsigned ctrl, struct capture_event *event)
{
	struct tape_codec_state *codec = &cursor->codec;
	unsigned fn = ctrl & 63, place_code = ctrl >> 8 & 3;
	unsigned sizeless = tape_fn_sizeless(fn);
	uint64_t place;

	codec->ticks += field_take(cursor, TAPE_FIELD_TIME, TAPE_TIME_LENGTHS, ctrl >> 6 & 3);
	place = field_take(cursor, TAPE_FIELD_ADDRESS, TAPE_ADDRESS_LENGTHS, place_code);
	codec->address = place_code == 3 ? place : tape_distance_unfold(codec->address, place);
	event->ticks = codec->ticks;
	event->address = codec->address;
	event->fn = (uint8_t)fn;
	event->size = event->usable = 0;
	if (!sizeless) {
		unsigned size_code = ctrl >> 10 & 3, slack_code = ctrl >> 12 & 3;
		uint64_t size = field_take(cursor, TAPE_FIELD_SIZE, TAPE_SIZE_LENGTHS, size_code);
		uint64_t slack =
			field_take(cursor, TAPE_FIELD_SLACK, TAPE_SLACK_LENGTHS, slack_code);

		codec->size = size_code ? size : codec->size;
		event->size = codec->size;
		event->usable = slack_code ? codec->size + slack : tape_usable_guess(codec->size);
	}
	if (ctrl >> 14)
		codec->node[sizeless] = (uint32_t)field_take(cursor, TAPE_FIELD_STACK,
							     TAPE_STACK_LENGTHS, ctrl >> 14);
	event->stack = codec->node[sizeless];
}

/* Extended records keep their bytes in the image, where their events point. */
static bool extended_copy(struct decoded *decoded, const struct columns *columns)
{
	const struct column_bytes *column = &columns->column[COLUMN_EXTENDED];

	if (column->bytes > decoded->image->used)
		return false;
	memcpy(decoded->image + 1, column->ptr, column->bytes);
	return true;
}

/* Bytes of the record at ptr (without its control word); 0: it does not fit. */
static size_t extended_take(const uint8_t *ptr, const uint8_t *end, unsigned ctrl,
			    struct capture_event *event)
{
	size_t rest = (size_t)(end - ptr);

	if (rest < TAPE_EXTENDED_BYTES - 2 || load_u32(ptr + 2) > rest - (TAPE_EXTENDED_BYTES - 2))
		return 0;
	*event = capture_event_of_extended(ctrl >> 6, load_u64(ptr + 6),
					   ptr + TAPE_EXTENDED_BYTES - 2, load_u32(ptr + 2));
	return TAPE_EXTENDED_BYTES - 2 + (size_t)load_u32(ptr + 2);
}

static bool all_taken(const struct columns *columns, const struct cursor *cursor)
{
	for (int i = 0; i < TAPE_FIELD_COUNT * 4; i++) {
		const struct column_bytes *column = &columns->column[COLUMN_FIELD + i];

		if (cursor->ptr[i] != column->ptr + column->bytes)
			return false;
	}
	return true;
}

bool columns_decode(const struct columns *columns, uint32_t stream, struct decoded *decoded)
{
	const uint8_t *low = columns->column[COLUMN_CONTROL_LOW].ptr;
	const uint8_t *high = columns->column[COLUMN_CONTROL_HIGH].ptr;
	const uint32_t count = columns->column[COLUMN_CONTROL_LOW].bytes;
	const uint8_t *extended = (const uint8_t *)(decoded->image + 1);
	const uint8_t *extended_end = extended + columns->column[COLUMN_EXTENDED].bytes;
	struct capture_event *event = decoded->events;
	uint32_t extended_count = 0;
	struct cursor cursor;

	if (count != columns->column[COLUMN_CONTROL_HIGH].bytes || count > decoded->room ||
	    !extended_copy(decoded, columns))
		return false;
	tape_codec_reset(&cursor.codec, decoded->image->begin_ticks);
	for (int i = 0; i < TAPE_FIELD_COUNT * 4; i++)
		cursor.ptr[i] = columns->column[COLUMN_FIELD + i].ptr;
	for (uint32_t i = 0; i < count; i++, event++) {
		unsigned ctrl = low[i] | (unsigned)high[i] << 8, fn = ctrl & 63;

		if (likely(fn < TAPE_FN_COUNT)) {
			event_take(&cursor, ctrl, event);
		} else {
			size_t bytes = fn == TAPE_FN_EXTENDED
					       ? extended_take(extended, extended_end, ctrl, event)
					       : 0;

			if (bytes == 0)
				return false;
			extended += bytes;
			extended_count++;
		}
		event->stream = stream & 0xffffff;
	}
	if (extended != extended_end || !all_taken(columns, &cursor))
		return false;
	decoded->count = count;
	decoded->event_count = count - extended_count;
	return true;
}
