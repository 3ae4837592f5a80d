/*
 * What somebody sends to a gatherer, or a gatherer to a sender: messages one after the other, as they come
 * out of a connection, and the names of files that are made of them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gather/shelf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* A name stays in its folder, is not hidden, and is a tape's. */
static void name_check(const struct wire_tape *tape, unsigned number)
{
	char name[WIRE_NAME_BYTES_MAX + 1];
	size_t len;

	memset(name, 'x', sizeof(name));
	shelf_name(tape, number, name);
	len = strnlen(name, sizeof(name));
	must(len < sizeof(name) && len > 6 && strcmp(name + len - 6, ".mtape") == 0);
	must(name[0] != '.');
	must(strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
	     len);
}

static struct err *begin_take(const uint8_t *payload, size_t bytes)
{
	uint8_t again[WIRE_PAYLOAD_BYTES_MAX];
	struct wire_tape tape;
	struct err *err = wire_begin_parse(payload, bytes, &tape);

	if (err)
		return err;
	must(strlen(tape.host) + strlen(tape.program) + sizeof(struct wire_begin) == bytes);
	must(wire_begin_make(again, tape.page, tape.host, tape.program) == bytes);
	must(memcmp(again, payload, bytes) == 0);
	name_check(&tape, 1);
	name_check(&tape, 1000);
	return NULL;
}

static struct err *ready_take(const uint8_t *payload, size_t bytes)
{
	uint8_t again[WIRE_PAYLOAD_BYTES_MAX];
	struct wire_place place;
	struct err *err = wire_ready_parse(payload, bytes, &place);

	if (err)
		return err;
	must(place.ready.tail_bytes <= WIRE_TAIL_BYTES_MAX);
	must(place.ready.end - place.ready.tail_bytes >= TAPE_HEADER_BYTES);
	must(wire_ready_make(again, &place) == bytes);
	must(memcmp(again, payload, bytes) == 0);
	return NULL;
}

/* A copy of its own size: what is read beyond it is found. */
static struct err *payload_take(const struct wire_frame *frame, const uint8_t *data)
{
	CLEAN(free) uint8_t *payload = malloc(frame->bytes ? frame->bytes : 1);
	CLEAN(str_deinit) struct str reason = { 0 };

	must(payload != NULL);
	memcpy(payload, data, frame->bytes);
	switch (frame->type) {
	case WIRE_BEGIN:
		return begin_take(payload, frame->bytes);
	case WIRE_HEADER:
		return wire_page_check(payload, payload);
	case WIRE_READY:
		return ready_take(payload, frame->bytes);
	case WIRE_REFUSED:
		wire_refused_parse(payload, frame->bytes, &reason);
		for (const char *at = str_text(&reason); *at; at++)
			must((unsigned char)*at >= ' ');
		return NULL;
	default:
		return NULL;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const enum wire_side side = size > 0 && data[0] & 1 ? WIRE_GATHERER : WIRE_SENDER;
	struct err *err = NULL;

	if (size == 0)
		return 0;
	data++;
	size--;
	while (!err && size >= sizeof(struct wire_frame)) {
		struct wire_frame frame;

		err = wire_frame_parse(data, side, &frame);
		if (err)
			break;
		must(frame.bytes <= WIRE_PAYLOAD_BYTES_MAX);
		data += sizeof(frame);
		size -= sizeof(frame);
		if (frame.bytes > size)
			break;
		err = payload_take(&frame, data);
		data += frame.bytes;
		size -= frame.bytes;
	}
	err_destroy(err);
	return 0;
}
