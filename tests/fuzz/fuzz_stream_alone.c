/*
 * What the recorder's own sender reads: the address in the environment, and what a gatherer, or somebody who
 * answers in its place, says.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stream/sender.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void target_take(const uint8_t *data, size_t size)
{
	static struct stream_target target;
	char *text = malloc(sizeof(STREAM_PREFIX) + size);

	must(text != NULL);
	memcpy(text, STREAM_PREFIX, sizeof(STREAM_PREFIX) - 1);
	memcpy(text + sizeof(STREAM_PREFIX) - 1, data, size);
	text[sizeof(STREAM_PREFIX) - 1 + size] = '\0';
	if (!stream_target_parse(text, &target)) {
		must(target.port > 0);
		must(memchr(target.pattern, '\0', sizeof(target.pattern)) != NULL);
		must(!target.drops || !target.has_file);
	}
	free(text);
}

/* A copy of its own size: what is read beyond it is found. */
static void payload_take(const struct wire_frame *frame, const uint8_t *data)
{
	char reason[WIRE_REASON_BYTES_MAX + 1];
	struct wire_ready ready;
	uint8_t *payload = malloc(frame->bytes ? frame->bytes : 1);

	must(payload != NULL);
	memcpy(payload, data, frame->bytes);
	if (frame->type == WIRE_READY && sender_ready_parse(payload, frame->bytes, &ready))
		must(ready.end - ready.tail_bytes >= TAPE_HEADER_BYTES);
	if (frame->type == WIRE_REFUSED) {
		sender_reason_parse(payload, frame->bytes, reason);
		for (const char *at = reason; *at; at++)
			must(*at >= ' ' && *at < 127);
	}
	free(payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] & 1) {
		target_take(data + 1, size - 1);
		return 0;
	}
	data++;
	size--;
	while (size >= sizeof(struct wire_frame)) {
		const struct wire_frame frame = { load_u32(data), load_u32(data + 4) };

		if (!line_frame_is_known(&frame))
			break;
		must(frame.bytes <= WIRE_PAYLOAD_BYTES_MAX);
		data += sizeof(frame);
		size -= sizeof(frame);
		if (frame.bytes > size)
			break;
		payload_take(&frame, data);
		data += frame.bytes;
		size -= frame.bytes;
	}
	return 0;
}
