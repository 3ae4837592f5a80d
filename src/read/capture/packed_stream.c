#include "capture/packed_stream.h"

#include <assert.h>

static void chunk_begin(struct packed_stream *stream)
{
	*stream->image = (struct tape_chunk) {
		.magic = TAPE_CHUNK_MAGIC,
		.header_bytes = sizeof(*stream->image),
		.codec = TAPE_CODEC_RAW,
		.state = TAPE_CHUNK_SEALED,
		.stream = stream->id,
		.seq = stream->next_seq,
		.first_node = stream->next_node,
		.oldest_node = stream->oldest_node,
		.flags = stream->oldest_node ? TAPE_CHUNK_JUMP : 0,
	};
	stream->node_bytes = 0;
	stream->oldest_node = 0;
}

void packed_stream_init(struct packed_stream *stream, struct packed_file *file, uint32_t id,
			uint32_t first_seq)
{
	assert(packed_file_chunk_bytes(file) >= TAPE_CHUNK_BYTES_MIN);
	*stream = (struct packed_stream) {
		.file = file,
		.id = id,
		.next_node = TAPE_NODE_FIRST,
		.next_seq = first_seq,
	};
}

void packed_stream_deinit(struct packed_stream *stream)
{
	free(stream->image);
	*stream = (struct packed_stream) { 0 };
}

struct err *packed_stream_flush(struct packed_stream *stream)
{
	struct err *err;

	if (!stream->image)
		return NULL;
	assert(stream->node_bytes == stream->image->node_count * sizeof(struct tape_node));
	if (stream->image->used == 0 && stream->image->node_count == 0)
		return NULL;
	err = packed_file_chunk(stream->file, stream->image, packed_file_chunk_bytes(stream->file),
				NULL);
	stream->next_seq++;
	chunk_begin(stream);
	return err;
}

struct err *packed_stream_jump(struct packed_stream *stream, uint32_t node)
{
	struct err *err = packed_stream_flush(stream);

	assert(node >= stream->next_node);
	stream->next_node = node;
	stream->oldest_node = node;
	if (!err && stream->image)
		chunk_begin(stream);
	return err;
}

struct err *packed_stream_end_as(struct packed_stream *stream, uint32_t seq, uint32_t oldest_node)
{
	assert(stream->image && stream->image->used > 0);
	if (stream->next_seq > seq)
		return err_new(ERR_LIMIT, "what is left of stream %u has more chunks than before",
			       stream->id);
	stream->image->seq = stream->next_seq = seq;
	stream->image->flags = TAPE_CHUNK_JUMP;
	stream->image->oldest_node = oldest_node;
	return packed_stream_flush(stream);
}

struct err *packed_stream_take_memory(struct packed_stream *stream, struct packed_stream *from)
{
	struct err *err = packed_stream_flush(from);

	assert(!stream->image && stream->file == from->file);
	if (err || !from->image)
		return err;
	stream->image = steal(from->image);
	chunk_begin(stream);
	return NULL;
}

struct err *packed_stream_reserve(struct packed_stream *stream, size_t node_count,
				  size_t record_bytes)
{
	const uint32_t bytes = packed_file_chunk_bytes(stream->file);
	size_t taken;

	if (unlikely(!stream->image)) {
		stream->image = calloc(1, (size_t)bytes + TAPE_EVENT_ROOM);
		if (!stream->image)
			return err_nomem();
		chunk_begin(stream);
	}
	taken = sizeof(*stream->image) + stream->image->used + (size_t)stream->node_bytes;
	assert(taken <= bytes);
	/* whole words are stored past a record's end: keep them out of the nodes */
	if (node_count * sizeof(struct tape_node) + record_bytes + TAPE_EVENT_ROOM <= bytes - taken)
		return NULL;
	return packed_stream_flush(stream);
}

struct err *packed_stream_node(struct packed_stream *stream, uint32_t parent, uint64_t pc,
			       bool exact, uint32_t *node_ret)
{
	const struct tape_node node = {
		.parent = parent,
		.pc_low = (uint32_t)pc,
		.pc_high = (uint32_t)(pc >> 32 & 0xffff) | (exact ? TAPE_NODE_EXACT : 0),
	};
	struct err *err = packed_stream_reserve(stream, 1, 0);

	assert(parent < stream->next_node);
	if (err)
		return err;
	if (stream->next_node == UINT32_MAX)
		return err_new(ERR_LIMIT, "more stacks than a stream can have");
	stream->node_bytes += sizeof(node);
	memcpy((uint8_t *)stream->image + packed_file_chunk_bytes(stream->file) -
		       stream->node_bytes,
	       &node, sizeof(node));
	stream->image->node_count++;
	*node_ret = stream->next_node++;
	return NULL;
}

/* Space for the next record of this size; a chunk begins at the time of its first record. */
static struct err *record_begin(struct packed_stream *stream, size_t bytes, uint64_t ticks,
				uint8_t **out_ret)
{
	struct err *err = packed_stream_reserve(stream, 0, bytes);

	if (err)
		return err;
	if (stream->image->used == 0) {
		stream->image->begin_ticks = ticks;
		tape_codec_reset(&stream->codec, ticks);
	}
	stream->last_ticks = u64_max(stream->last_ticks, ticks);
	*out_ret = (uint8_t *)(stream->image + 1) + stream->image->used;
	return NULL;
}

static void record_end(struct packed_stream *stream, const uint8_t *end)
{
	stream->image->used = (uint32_t)(end - (uint8_t *)(stream->image + 1));
}

struct err *packed_stream_event(struct packed_stream *stream, const struct tape_event *event)
{
	uint8_t *out = NULL;
	struct err *err = record_begin(stream, TAPE_EVENT_BYTES_MAX, event->ticks, &out);

	if (err)
		return err;
	if (event->fn == TAPE_FN_LATENCY)
		out = tape_latency_encode(out, event->size);
	else
		out = tape_event_encode(&stream->codec, out, event->fn, event->ticks,
					event->address, event->size, event->usable, event->node);
	record_end(stream, out);
	return NULL;
}

struct err *packed_stream_extended(struct packed_stream *stream, enum tape_extended type,
				   uint64_t ticks, const void *payload, size_t bytes,
				   const void *tail, size_t tail_bytes)
{
	const size_t room = packed_file_chunk_bytes(stream->file) - sizeof(*stream->image);
	uint8_t *out = NULL;
	struct err *err;

	assert(payload || bytes == 0);
	assert(tail || tail_bytes == 0);
	if (TAPE_EXTENDED_BYTES + bytes + tail_bytes + TAPE_EVENT_ROOM > room)
		return err_new(ERR_FORMAT, "a record of %zu bytes is too long", bytes + tail_bytes);
	err = record_begin(stream, TAPE_EXTENDED_BYTES + bytes + tail_bytes, ticks, &out);
	if (err)
		return err;
	record_end(stream,
		   tape_extended_encode(out, type, ticks, payload, bytes, tail, tail_bytes));
	return NULL;
}
