/*
 * The record codec on any bytes: reading ends, stays inside, and what was read as events is written
 * and read again as the same events.
 */
#include <stdlib.h>

#include "tape/codec.h"

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* Encoders may choose other lengths than the input had, so values are compared, not bytes. */
static void check_round_trip(const struct tape_event *event, struct tape_codec_state *writer,
			     struct tape_codec_state *reader_state)
{
	uint8_t bytes[TAPE_EVENT_ROOM];
	const bool is_latency = event->fn == TAPE_FN_LATENCY;
	const uint8_t *end = is_latency ? tape_latency_encode(bytes, event->size)
					: tape_event_encode(writer, bytes, event->fn, event->ticks,
							    event->address, event->size,
							    event->usable, event->node);
	struct tape_reader reader;

	tape_reader_init(&reader, bytes, (size_t)(end - bytes), 0);
	reader.codec = *reader_state;
	check(tape_reader_next(&reader));
	check(reader.event.fn == event->fn && reader.event.ticks == event->ticks);
	check(reader.event.address == event->address && reader.event.node == event->node);
	check(reader.event.size == event->size && reader.event.usable == event->usable);
	check(tape_reader_offset(&reader) == (size_t)(end - bytes));
	*reader_state = reader.codec;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tape_codec_state writer = { 0 };
	struct tape_codec_state again = { 0 };
	struct tape_reader reader;
	size_t last = 0;

	tape_reader_init(&reader, data, size, 0);
	while (tape_reader_next(&reader)) {
		check(tape_reader_offset(&reader) > last);
		last = tape_reader_offset(&reader);
		check(last <= size);
		if (!reader.is_extended)
			check_round_trip(&reader.event, &writer, &again);
	}
	check(!tape_reader_next(&reader));
	return 0;
}
