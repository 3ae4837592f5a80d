/*
 * Columns -> events, without assembling records in between.
 *
 * Nothing is checked on the way: the control words of one chunk can consume at most 8 bytes per
 * record of any column, and that much is readable after the last one (COLUMN_OVERRUN). Whether each
 * column was consumed exactly is checked at the end; if not, everything is discarded.
 */

/* gcc would keep time and address as a vector, which costs more moves than it saves. */
#ifndef __clang__
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

#include <assert.h>

#include "capture/chunk.h"
#include "capture/columns.h"

/* A control word, preprocessed so that an event needs few branches. */
struct word {
	uint64_t mask[TAPE_FIELD_COUNT];  /* of the value's bytes */
	uint8_t column[TAPE_FIELD_COUNT]; /* from COLUMN_FIELD on */
	uint8_t length[TAPE_FIELD_COUNT];
	int8_t size_kept; /* -1: the size is unchanged, else 0 */
	int8_t stack_kept;
	int8_t size_shown; /* -1: the function carries one */
	uint8_t fn;
	uint8_t sizeless;
	bool is_absolute;
	uint16_t ctrl;
} __attribute__((aligned(64)));

struct cursor {
	const uint8_t *ptr[TAPE_FIELD_COUNT * 4];
	const uint8_t *rare, *rare_end;
	const uint8_t *latency, *latency_long;
	const uint8_t *extended, *extended_end;
	struct tape_codec_state codec;
	uint32_t extended_count;
	uint32_t latency_count;
};

static void word_fill(struct word *word, const struct columns *columns, unsigned ctrl)
{
	static const uint64_t masks[] = { [0] = 0,	  [1] = 0xff,	    [2] = 0xffff,
					  [3] = 0xffffff, [4] = 0xffffffff, [8] = UINT64_MAX };
	const struct column_shape *shape = column_shape_of(columns, ctrl);

	for (int field = 0; field < TAPE_FIELD_COUNT; field++) {
		word->mask[field] = masks[shape->length[field]];
		word->length[field] = shape->length[field];
		word->column[field] = (uint8_t)(shape->column[field] - COLUMN_FIELD);
	}
	word->ctrl = (uint16_t)ctrl;
	word->fn = ctrl & 63;
	word->sizeless = tape_fn_sizeless(word->fn);
	word->is_absolute = (ctrl >> 8 & 3) == 3;
	word->size_shown = (int8_t)(word->sizeless - 1);
	word->size_kept = (int8_t) - !shape->length[TAPE_FIELD_SIZE];
	word->stack_kept = (int8_t) - !shape->length[TAPE_FIELD_STACK];
}

static inline uint64_t field_take(struct cursor *cursor, const struct word *word,
				  enum tape_field field)
{
	const uint8_t **ptr = &cursor->ptr[word->column[field]];
	uint64_t value = load_u64(*ptr) & word->mask[field];

	*ptr += word->length[field];
	return value;
}

/* Like event_decode of chunk.c, each field from its column. */
__attribute__((always_inline)) static inline void
event_take(struct cursor *cursor, struct tape_codec_state *codec, const struct word *word,
	   uint32_t stream, struct capture_event *event)
{
	uint64_t place, size, usable;
	uint32_t *node = &codec->node[word->sizeless];

	if (likely(word->length[TAPE_FIELD_TIME] == 1))
		codec->ticks += *cursor->ptr[TAPE_FIELD_TIME * 4]++;
	else
		codec->ticks += field_take(cursor, word, TAPE_FIELD_TIME);
	place = field_take(cursor, word, TAPE_FIELD_ADDRESS);
	codec->address = word->is_absolute ? place : tape_distance_unfold(codec->address, place);
	size = field_take(cursor, word, TAPE_FIELD_SIZE) |
	       (codec->size & (uint64_t)word->size_kept);
	codec->size = size;
	usable = tape_usable_guess(size);
	if (word->length[TAPE_FIELD_SLACK]) /* in nearly all records of a program or in none */
		usable = size + field_take(cursor, word, TAPE_FIELD_SLACK);
	*node = (uint32_t)field_take(cursor, word, TAPE_FIELD_STACK) |
		(*node & (uint32_t)word->stack_kept);
	event->ticks = codec->ticks;
	event->address = codec->address;
	event->size = size & (uint64_t)word->size_shown;
	event->usable = usable & (uint64_t)word->size_shown;
	event->stack = *node;
	event->fn = word->fn;
	event->stream = stream & 0xffffff;
}

/* Checked at the end, like events. */
static inline void latency_take(struct cursor *cursor, const struct word *word,
				struct capture_event *event)
{
	uint64_t latency;

	if (likely(word->length[TAPE_FIELD_TIME] == 2)) {
		latency = load_u16(cursor->latency);
		cursor->latency += 2;
	} else {
		latency = load_u64(cursor->latency_long);
		cursor->latency_long += 8;
	}
	*event = capture_event_of_latency(cursor->codec.ticks, latency);
	cursor->latency_count++;
}

/* An extended record, or a control word without a code. False: the columns are inconsistent. */
static bool other_take(struct cursor *cursor, const struct columns *columns, unsigned code,
		       const struct word *word, struct capture_event *event)
{
	struct word rare;
	size_t rest = (size_t)(cursor->extended_end - cursor->extended);
	const uint8_t *ptr = cursor->extended;

	if (code == COLUMN_CODE_RARE) {
		if (cursor->rare == cursor->rare_end)
			return false;
		word_fill(&rare, columns, load_u16(cursor->rare));
		word = &rare;
		cursor->rare += 2;
	}
	if (word->fn < TAPE_FN_COUNT) {
		event_take(cursor, &cursor->codec, word, 0, event);
		return true;
	}
	if (word->fn == TAPE_FN_LATENCY && tape_latency_bytes(word->ctrl)) {
		latency_take(cursor, word, event);
		return true;
	}
	if (word->fn != TAPE_FN_EXTENDED || rest < TAPE_EXTENDED_BYTES - 2 ||
	    load_u32(ptr + 2) > rest - (TAPE_EXTENDED_BYTES - 2))
		return false;
	*event = capture_event_of_extended(word->ctrl >> 6, load_u64(ptr + 6),
					   ptr + TAPE_EXTENDED_BYTES - 2, load_u32(ptr + 2));
	cursor->extended += TAPE_EXTENDED_BYTES - 2 + (size_t)load_u32(ptr + 2);
	cursor->extended_count++;
	return true;
}

/* Extended records keep their bytes in the image, where their events point. */
static bool cursor_init(struct cursor *cursor, const struct columns *columns,
			struct decoded *decoded)
{
	const struct column_bytes *extended = &columns->column[COLUMN_EXTENDED];
	const struct column_bytes *rare = &columns->column[COLUMN_RARE];

	if (extended->bytes > decoded->image->used || rare->bytes % 2 != 0)
		return false;
	memcpy(decoded->image + 1, extended->ptr, extended->bytes);
	*cursor = (struct cursor) { .rare = rare->ptr, .rare_end = rare->ptr + rare->bytes };
	cursor->extended = (const uint8_t *)(decoded->image + 1);
	cursor->extended_end = cursor->extended + extended->bytes;
	tape_codec_reset(&cursor->codec, decoded->image->begin_ticks);
	cursor->latency = columns->column[COLUMN_LATENCY].ptr;
	cursor->latency_long = columns->column[COLUMN_LATENCY_LONG].ptr;
	for (int i = 0; i < TAPE_FIELD_COUNT * 4; i++)
		cursor->ptr[i] = columns->column[COLUMN_FIELD + i].ptr;
	return true;
}

static bool column_is_taken(const struct column_bytes *column, const uint8_t *ptr)
{
	return ptr == column->ptr + column->bytes;
}

static bool all_taken(const struct columns *columns, const struct cursor *cursor)
{
	if (!column_is_taken(&columns->column[COLUMN_LATENCY], cursor->latency) ||
	    !column_is_taken(&columns->column[COLUMN_LATENCY_LONG], cursor->latency_long))
		return false;
	for (int i = 0; i < TAPE_FIELD_COUNT * 4; i++)
		if (!column_is_taken(&columns->column[COLUMN_FIELD + i], cursor->ptr[i]))
			return false;
	return cursor->rare == cursor->rare_end && cursor->extended == cursor->extended_end;
}

/* codec: a copy whose address is given to nobody, so that most of it stays in registers. */
static bool decode(const struct columns *columns, struct cursor *cursor, const struct word *words,
		   uint32_t stream, struct capture_event *event)
{
	const struct column_bytes *list = &columns->column[COLUMN_CODES];
	const uint8_t *const end = list->ptr + list->bytes;
	const uint32_t word_count = columns->column[COLUMN_WORDS].bytes / 2;
	struct tape_codec_state codec = cursor->codec;

	for (const uint8_t *code = list->ptr; code < end; code++, event++) {
		const struct word *word = &words[*code];

		if (likely(word->fn < TAPE_FN_COUNT)) {
			event_take(cursor, &codec, word, stream, event);
			continue;
		}
		if (*code >= word_count && *code != COLUMN_CODE_RARE)
			return false;
		cursor->codec = codec;
		if (!other_take(cursor, columns, *code, word, event))
			return false;
		codec = cursor->codec;
		event->stream = stream & 0xffffff;
	}
	return all_taken(columns, cursor);
}

bool columns_decode(const struct columns *columns, uint32_t stream, struct decoded *decoded)
{
	const struct column_bytes *list = &columns->column[COLUMN_WORDS];
	const uint32_t count = columns->column[COLUMN_CODES].bytes;
	struct word words[COLUMN_CODE_RARE + 1];
	struct cursor cursor;

	if (list->bytes % 2 != 0 || list->bytes > 2 * COLUMN_CODE_RARE || count > decoded->room ||
	    !cursor_init(&cursor, columns, decoded))
		return false;
	for (uint32_t i = 0; i < list->bytes / 2; i++)
		word_fill(&words[i], columns, load_u16(list->ptr + i * 2));
	for (uint32_t i = list->bytes / 2; i <= COLUMN_CODE_RARE; i++)
		words[i].fn = TAPE_FN_EXTENDED; /* no event */
	if (!decode(columns, &cursor, words, stream, decoded->events))
		return false;
	decoded->count = count;
	decoded->event_count = count - cursor.extended_count - cursor.latency_count;
	return true;
}
