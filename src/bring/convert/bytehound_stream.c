#include "convert/bytehound_stream.h"

#include <assert.h>

#include "convert/lz4_block.h"

enum {
	KIND_LZ4 = 1,
	KIND_PLAIN = 2,
	HEADER_BYTES = 5,
	/* Half a MiB when recorded; `bytehound strip` writes whole programs as one chunk. */
	CHUNK_MAX = 1 << 30,
	STEP_BYTES = 1 << 20
};

void bytehound_stream_deinit(struct bytehound_stream *stream)
{
	vec_u8_deinit(&stream->bytes);
	vec_u8_deinit(&stream->packed);
}

static bool fail(struct bytehound_stream *stream, const char *why)
{
	if (!stream->why)
		stream->why = why;
	return false;
}

/* Drops what was read; the rest moves to the front. */
static void compact(struct bytehound_stream *stream)
{
	if (stream->at > 0)
		memmove(stream->bytes.items, stream->bytes.items + stream->at,
			stream->bytes.count - stream->at);
	stream->bytes.count -= stream->at;
	stream->at = 0;
}

static bool payload_take(struct bytehound_stream *stream, uint8_t kind, uint32_t length)
{
	struct vec_u8 *to = kind == KIND_LZ4 ? &stream->packed : &stream->bytes;

	stream->packed.count = 0;
	/* gradually, so that a false length costs nothing before the bytes are there */
	for (uint32_t left = length, step; left > 0; left -= step) {
		step = (uint32_t)u64_min(left, STEP_BYTES);
		if (!vec_u8_reserve(to, to->count + step))
			return fail(stream, "out of memory for a chunk");
		if (!source_take(stream->source, to->items + to->count, step))
			return fail(stream, "the file ends in the middle of a chunk");
		to->count += step;
	}
	if (kind == KIND_PLAIN)
		return true;
	switch (lz4_block_decode(to->items, length, CHUNK_MAX, &stream->bytes)) {
	case LZ4_DONE:
		return true;
	case LZ4_DAMAGED:
		return fail(stream, "a compressed chunk is damaged");
	case LZ4_NO_MEMORY:
		break;
	}
	return fail(stream, "out of memory for a chunk");
}

static bool chunk_take(struct bytehound_stream *stream)
{
	uint8_t header[HEADER_BYTES];
	const char *bytes;
	size_t count;
	uint32_t length;

	source_peek(stream->source, HEADER_BYTES, &bytes, &count);
	if (count == 0) {
		stream->is_at_end = true;
		return false;
	}
	if (!source_take(stream->source, header, sizeof(header)))
		return fail(stream, "the file ends in the middle of a chunk");
	length = load_u32(header + 1);
	if ((header[0] != KIND_LZ4 && header[0] != KIND_PLAIN) || length > CHUNK_MAX)
		return fail(stream, "not a chunk as bytehound writes them");
	compact(stream);
	return payload_take(stream, header[0], length);
}

bool bytehound_more(struct bytehound_stream *stream)
{
	assert(stream->at <= stream->bytes.count);
	while (!stream->why && stream->at == stream->bytes.count)
		if (!chunk_take(stream))
			return false;
	return !stream->why;
}

const uint8_t *bytehound_bytes(struct bytehound_stream *stream, uint64_t count, size_t max)
{
	static const uint8_t nothing;
	const uint8_t *bytes;

	assert(stream->at <= stream->bytes.count);
	if (count > max)
		fail(stream, "a string or list is too long");
	while (!stream->why && stream->bytes.count - stream->at < count)
		if (!chunk_take(stream))
			fail(stream, "the file ends in the middle of an event");
	if (stream->why)
		return NULL;
	if (count == 0)
		return &nothing;
	bytes = stream->bytes.items + stream->at;
	stream->at += count;
	return bytes;
}

void bytehound_skip(struct bytehound_stream *stream, uint64_t count)
{
	assert(stream->at <= stream->bytes.count);
	while (!stream->why && count > 0) {
		const size_t here = u64_min(count, stream->bytes.count - stream->at);

		stream->at += here;
		count -= here;
		if (count > 0 && !chunk_take(stream))
			fail(stream, "the file ends in the middle of an event");
	}
}

uint8_t bytehound_u8(struct bytehound_stream *stream)
{
	const uint8_t *bytes = bytehound_bytes(stream, 1, 1);

	return bytes ? *bytes : 0;
}

uint32_t bytehound_u32(struct bytehound_stream *stream)
{
	const uint8_t *bytes = bytehound_bytes(stream, 4, 4);

	return bytes ? load_u32(bytes) : 0;
}

uint64_t bytehound_u64(struct bytehound_stream *stream)
{
	const uint8_t *bytes = bytehound_bytes(stream, 8, 8);

	return bytes ? load_u64(bytes) : 0;
}

/* The first byte's leading ones count the bytes that follow; its other bits are the highest. */
uint64_t bytehound_varint(struct bytehound_stream *stream)
{
	const uint8_t first = bytehound_u8(stream);
	const unsigned count = first == 0xff ? 8 : (unsigned)__builtin_clz((uint8_t)~first) - 24;
	const uint8_t *bytes = bytehound_bytes(stream, count, 8);
	uint64_t value = 0;

	for (unsigned i = 0; bytes && i < count; i++)
		value |= (uint64_t)bytes[i] << i * 8;
	if (count < 7)
		value |= (uint64_t)(first & (0x7f >> count)) << count * 8;
	return value;
}
