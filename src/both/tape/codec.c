#include "tape/codec.h"

#include "core/poison.h"

void tape_reader_init(struct tape_reader *reader, const void *records, size_t used,
		      uint64_t begin_ticks)
{
	CHECK(records || used == 0);
	*reader = (struct tape_reader) { .begin = records, .ptr = records };
	reader->end = reader->begin + used;
	tape_codec_reset(&reader->codec, begin_ticks);
}

size_t tape_reader_offset(const struct tape_reader *reader)
{
	CHECK(reader->ptr >= reader->begin && reader->ptr <= reader->end);
	return (size_t)(reader->ptr - reader->begin);
}

static uint64_t low_bytes(uint64_t value, unsigned bytes)
{
	CHECK(bytes <= 8);
	return bytes == 8 ? value : value & ((UINT64_C(1) << bytes * 8) - 1);
}

static uint64_t field_read(const uint8_t **ptr, enum tape_field field, unsigned code)
{
	unsigned bytes = tape_field_bytes(field, code);
	uint64_t value = low_bytes(load_u64(*ptr), bytes);

	*ptr += bytes;
	return value;
}

/* Reads at ptr, which has TAPE_EVENT_ROOM readable bytes; returns the record's end. */
static const uint8_t *event_decode(struct tape_codec_state *codec, const uint8_t *ptr,
				   struct tape_event *event)
{
	unsigned ctrl = load_u16(ptr);
	unsigned fn = ctrl & 63;
	unsigned sizeless = tape_fn_sizeless(fn);
	uint64_t place;
	uint64_t slack;

	ptr += 2;
	event->fn = (enum tape_fn)fn;
	codec->ticks += field_read(&ptr, TAPE_FIELD_TIME, ctrl >> 6 & 3);
	event->ticks = codec->ticks;
	place = field_read(&ptr, TAPE_FIELD_ADDRESS, ctrl >> 8 & 3);
	codec->address = (ctrl >> 8 & 3) == 3 ? place : tape_distance_unfold(codec->address, place);
	event->address = codec->address;
	event->size = event->usable = 0;
	if (!sizeless) {
		if (ctrl >> 10 & 3)
			codec->size = field_read(&ptr, TAPE_FIELD_SIZE, ctrl >> 10 & 3);
		event->size = codec->size;
		event->usable = tape_usable_guess(event->size);
		if (ctrl >> 12 & 3) {
			slack = field_read(&ptr, TAPE_FIELD_SLACK, ctrl >> 12 & 3);
			event->usable = event->size + slack;
		}
	}
	if (ctrl >> 14)
		codec->node[sizeless] = (uint32_t)field_read(&ptr, TAPE_FIELD_STACK, ctrl >> 14);
	event->node = codec->node[sizeless];
	return ptr;
}

static bool extended_next(struct tape_reader *reader, size_t rest)
{
	struct tape_extended_record *record = &reader->extended;

	CHECK(rest <= (size_t)(reader->end - reader->ptr));
	if (rest < TAPE_EXTENDED_BYTES)
		return false;
	record->type = (enum tape_extended)(load_u16(reader->ptr) >> 6);
	record->payload_bytes = load_u32(reader->ptr + 4);
	record->ticks = load_u64(reader->ptr + 8);
	record->payload = reader->ptr + TAPE_EXTENDED_BYTES;
	if (record->payload_bytes > rest - TAPE_EXTENDED_BYTES)
		return false;
	reader->ptr = record->payload + record->payload_bytes;
	reader->is_extended = true;
	return true;
}

static bool event_next(struct tape_reader *reader, size_t rest)
{
	uint8_t copy[TAPE_EVENT_ROOM] = { 0 };
	const uint8_t *end;

	CHECK(rest <= (size_t)(reader->end - reader->ptr));
	if ((load_u16(reader->ptr) & 63) >= TAPE_FN_COUNT)
		return false;
	reader->is_extended = false;
	if (likely(rest >= TAPE_EVENT_ROOM)) {
		reader->ptr = event_decode(&reader->codec, reader->ptr, &reader->event);
		return true;
	}
	memcpy(copy, reader->ptr, rest);
	end = event_decode(&reader->codec, copy, &reader->event);
	if ((size_t)(end - copy) > rest)
		return false;
	reader->ptr += end - copy;
	return true;
}

static bool latency_next(struct tape_reader *reader, size_t rest)
{
	const unsigned bytes = tape_latency_bytes(load_u16(reader->ptr));

	CHECK(rest >= 2);
	if (bytes == 0 || rest - 2 < bytes)
		return false;
	reader->event = (struct tape_event) {
		.fn = TAPE_FN_LATENCY,
		.node = TAPE_NODE_NONE,
		.ticks = reader->codec.ticks,
		.size = bytes == 2 ? load_u16(reader->ptr + 2) : load_u64(reader->ptr + 2),
	};
	reader->ptr += 2 + bytes;
	reader->is_extended = false;
	return true;
}

bool tape_reader_next(struct tape_reader *reader)
{
	size_t rest = (size_t)(reader->end - reader->ptr);
	bool done;

	CHECK(reader->ptr >= reader->begin && reader->ptr <= reader->end);
	if (reader->failed || rest == 0)
		return false;
	if (rest < 2)
		done = false;
	else if ((load_u16(reader->ptr) & 63) == TAPE_FN_EXTENDED)
		done = extended_next(reader, rest);
	else if ((load_u16(reader->ptr) & 63) == TAPE_FN_LATENCY)
		done = latency_next(reader, rest);
	else
		done = event_next(reader, rest);
	reader->failed = !done;
	return done;
}

uint8_t *tape_extended_encode(uint8_t *out, enum tape_extended type, uint64_t ticks,
			      const void *payload, size_t bytes, const void *tail,
			      size_t tail_bytes)
{
	CHECK(payload || bytes == 0);
	CHECK(tail || tail_bytes == 0);
	CHECK((unsigned)type < 1 << 10);
	CHECK(bytes + tail_bytes <= UINT32_MAX);
	store_u16(out, (uint16_t)(TAPE_FN_EXTENDED | type << 6));
	store_u16(out + 2, 0);
	store_u32(out + 4, (uint32_t)(bytes + tail_bytes));
	store_u64(out + 8, ticks);
	out += TAPE_EXTENDED_BYTES;
	if (bytes > 0)
		memcpy(out, payload, bytes);
	out += bytes;
	if (tail_bytes > 0)
		memcpy(out, tail, tail_bytes);
	return out + tail_bytes;
}
