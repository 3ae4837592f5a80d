/*
 * protobuf: the encoding of protocol buffers, as far as pprof uses it: a message is a list of
 * fields, each a number and a value: an integer or a byte string. Truncated or oversized data makes
 * the reader fail, which sticks. Internal to convert.
 */
#ifndef MEMTAPE_CONVERT_PROTOBUF_H
#define MEMTAPE_CONVERT_PROTOBUF_H

#include "core/core.h"

struct protobuf {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

struct protobuf_field {
	uint32_t number;
	bool is_bytes;
	uint64_t value;	       /* of an integer */
	struct protobuf bytes; /* of a string, a message or a packed list */
};

static inline bool protobuf_varint(struct protobuf *in, uint64_t *value_ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; in->at < in->end && shift < 64; shift += 7) {
		const uint8_t byte = *in->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*value_ret = value;
			return true;
		}
	}
	in->failed = true;
	return false;
}

/* The next field; false: end, or in->failed. */
static inline bool protobuf_next(struct protobuf *in, struct protobuf_field *field)
{
	enum { VARINT, FIXED64, BYTES, FIXED32 = 5 };
	uint64_t key, count;

	if (in->failed || in->at == in->end || !protobuf_varint(in, &key))
		return false;
	*field = (struct protobuf_field) { .number = (uint32_t)u64_min(key >> 3, UINT32_MAX),
					   .is_bytes = (key & 7) == BYTES };
	if ((key & 7) == VARINT)
		return protobuf_varint(in, &field->value);
	if ((key & 7) == BYTES) {
		if (!protobuf_varint(in, &count))
			return false;
	} else {
		count = (key & 7) == FIXED64 ? 8 : 4;
		in->failed |= (key & 7) != FIXED64 && (key & 7) != FIXED32;
	}
	if (in->failed || count > (uint64_t)(in->end - in->at)) {
		in->failed = true;
		return false;
	}
	field->bytes = (struct protobuf) { .at = in->at, .end = in->at + count };
	in->at += count;
	return true;
}

/* The next integer of a field that is a packed list or a single one. */
static inline bool protobuf_number(struct protobuf_field *field, uint64_t *value_ret)
{
	if (field->is_bytes)
		return field->bytes.at < field->bytes.end &&
		       protobuf_varint(&field->bytes, value_ret);
	if (field->number == 0)
		return false;
	*value_ret = field->value;
	field->number = 0; /* it was a single one */
	return true;
}

#endif
