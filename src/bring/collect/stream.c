#include "collect/stream.h"

#include <assert.h>

#include "tape/codec.h"

void stream_begin(struct stream *stream, uint32_t number, uint32_t seq)
{
	stream->begun_ns = 0;
	stream->chunk = (struct tape_chunk) {
		.magic = TAPE_CHUNK_MAGIC,
		.header_bytes = sizeof(stream->chunk),
		.codec = TAPE_CODEC_RAW,
		.state = TAPE_CHUNK_SEALED,
		.stream = number,
		.seq = seq,
		.first_node = TAPE_NODE_FIRST,
	};
}

void stream_begin_alone(struct stream *stream, uint32_t slot)
{
	stream_begin(stream, TAPE_COLLECTOR_STREAM, slot);
	stream->chunk.flags = TAPE_CHUNK_JUMP;
}

bool stream_add(struct stream *stream, enum tape_extended type, uint64_t ticks, const void *payload,
		size_t bytes, const char *tail)
{
	uint8_t *at = stream->bytes + sizeof(stream->chunk) + stream->chunk.used;
	size_t tail_bytes = tail ? strlen(tail) : 0;
	size_t room = (size_t)(stream->bytes + sizeof(stream->bytes) - at);

	assert(payload || bytes == 0);
	assert(stream->chunk.used <= sizeof(stream->bytes) - sizeof(stream->chunk));
	if (TAPE_EXTENDED_BYTES + bytes + tail_bytes > room)
		return false;
	if (stream->chunk.used == 0)
		stream->chunk.begin_ticks = ticks;
	at = tape_extended_encode(at, type, ticks, payload, bytes, tail, tail_bytes);
	stream->chunk.used = (uint32_t)(at - stream->bytes - sizeof(stream->chunk));
	return true;
}
