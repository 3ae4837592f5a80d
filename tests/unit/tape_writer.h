/*
 * tape_writer: raw tapes made by hand, in memory, as a recorder would have written them.
 */
#ifndef MEMTAPE_TESTS_UNIT_TAPE_WRITER_H
#define MEMTAPE_TESTS_UNIT_TAPE_WRITER_H

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tape/codec.h"

enum { WRITER_STREAMS = 16, WRITER_START_TICKS = 1000 };

struct writer_stream {
	size_t slot; /* offset of the open chunk; 0: none */
	uint32_t seq;
	uint32_t next_node;
	struct tape_codec_state codec;
	uint8_t *ptr;
};

struct writer {
	uint8_t *bytes;
	size_t len;
	size_t room;
	uint32_t chunk_bytes;
	struct writer_stream streams[WRITER_STREAMS];
};

static inline struct tape_header *writer_header(struct writer *writer)
{
	return (struct tape_header *)(void *)writer->bytes;
}

static inline void writer_init(struct writer *writer, uint32_t chunk_bytes)
{
	*writer = (struct writer) { .chunk_bytes = chunk_bytes, .len = TAPE_HEADER_BYTES };
	/* Slots must not move while they are written: as much as any test needs, at once. */
	writer->room = (size_t)64 << 20;
	writer->bytes = calloc(1, writer->room);
	assert(writer->bytes);
	*writer_header(writer) = (struct tape_header) {
		.magic = TAPE_MAGIC,
		.version = TAPE_VERSION,
		.header_bytes = TAPE_HEADER_BYTES,
		.kind = TAPE_KIND_RAW,
		.chunk_bytes = chunk_bytes,
		.flags = TAPE_FLAG_ALLOC_STACKS | TAPE_FLAG_FREE_STACKS,
		.clock = TAPE_CLOCK_MONOTONIC,
		.start_ticks = WRITER_START_TICKS,
		.start_monotonic_ns = WRITER_START_TICKS,
		.pid = 42,
	};
	for (int i = 0; i < WRITER_STREAMS; i++)
		writer->streams[i].next_node = TAPE_NODE_FIRST;
}

static inline void writer_deinit(struct writer *writer)
{
	free(writer->bytes);
}

static inline struct tape_chunk *writer_chunk(struct writer *writer, unsigned stream)
{
	return (struct tape_chunk *)(void *)(writer->bytes + writer->streams[stream].slot);
}

static inline void writer_seal(struct writer *writer, unsigned stream)
{
	struct writer_stream *lane = &writer->streams[stream];

	if (lane->slot)
		writer_chunk(writer, stream)->state = TAPE_CHUNK_SEALED;
	lane->slot = 0;
}

static inline void writer_open(struct writer *writer, unsigned stream, uint64_t ticks)
{
	struct writer_stream *lane = &writer->streams[stream];

	assert(writer->len + writer->chunk_bytes <= writer->room);
	lane->slot = writer->len;
	writer->len += writer->chunk_bytes;
	*writer_chunk(writer, stream) = (struct tape_chunk) {
		.magic = TAPE_CHUNK_MAGIC,
		.header_bytes = sizeof(struct tape_chunk),
		.state = TAPE_CHUNK_OPEN,
		.stream = stream,
		.seq = lane->seq++,
		.first_node = lane->next_node,
		.begin_ticks = ticks,
	};
	tape_codec_reset(&lane->codec, ticks);
	lane->ptr = (uint8_t *)(writer_chunk(writer, stream) + 1);
}

/* The open chunk of a stream, with room for `bytes` more. */
static inline struct tape_chunk *writer_room(struct writer *writer, unsigned stream, size_t bytes,
					     uint64_t ticks)
{
	struct writer_stream *lane = &writer->streams[stream];
	struct tape_chunk *chunk = writer_chunk(writer, stream);

	if (lane->slot && sizeof(*chunk) + chunk->used + bytes +
					  (chunk->node_count + 1) * sizeof(struct tape_node) >
				  writer->chunk_bytes)
		writer_seal(writer, stream);
	if (!lane->slot)
		writer_open(writer, stream, ticks);
	return writer_chunk(writer, stream);
}

static inline void writer_event(struct writer *writer, unsigned stream, enum tape_fn fn,
				uint64_t ticks, uint64_t address, uint64_t size, uint32_t node)
{
	struct writer_stream *lane = &writer->streams[stream];
	struct tape_chunk *chunk = writer_room(writer, stream, TAPE_EVENT_ROOM, ticks);
	uint64_t usable = tape_fn_sizeless(fn) || !address ? 0 : size + size % 3;

	lane->ptr =
		tape_event_encode(&lane->codec, lane->ptr, fn, ticks, address, size, usable, node);
	chunk->used = (uint32_t)(lane->ptr - (uint8_t *)(chunk + 1));
	chunk->event_count++;
}

/* How long the call took that the stream's last event was. */
static inline void writer_latency(struct writer *writer, unsigned stream, uint64_t latency)
{
	struct writer_stream *lane = &writer->streams[stream];
	struct tape_chunk *chunk =
		writer_room(writer, stream, TAPE_LATENCY_BYTES_MAX, lane->codec.ticks);

	lane->ptr = tape_latency_encode(lane->ptr, latency);
	chunk->used = (uint32_t)(lane->ptr - (uint8_t *)(chunk + 1));
}

static inline void writer_extended(struct writer *writer, unsigned stream, enum tape_extended type,
				   uint64_t ticks, const void *payload, size_t bytes,
				   const char *text)
{
	struct writer_stream *lane = &writer->streams[stream];
	size_t tail = text ? strlen(text) + 1 : 0;
	struct tape_chunk *chunk =
		writer_room(writer, stream, TAPE_EXTENDED_BYTES + bytes + tail, ticks);

	lane->ptr = tape_extended_encode(lane->ptr, type, ticks, payload, bytes, text, tail);
	chunk->used = (uint32_t)(lane->ptr - (uint8_t *)(chunk + 1));
}

static inline uint32_t writer_node(struct writer *writer, unsigned stream, uint32_t parent,
				   uint64_t pc, uint64_t ticks)
{
	struct tape_chunk *chunk =
		writer_room(writer, stream, TAPE_EVENT_ROOM + sizeof(struct tape_node), ticks);
	struct tape_node node = { parent, (uint32_t)pc, (uint32_t)(pc >> 32) };

	chunk->node_count++;
	memcpy((uint8_t *)chunk + writer->chunk_bytes - chunk->node_count * sizeof(node), &node,
	       sizeof(node));
	return writer->streams[stream].next_node++;
}

/* A file of its own in TMPDIR; path has 64 bytes. Removed by the caller. */
static inline void writer_path(char *path)
{
	int fd;

	snprintf(path, 64, "/tmp/memtape-unit-XXXXXX");
	fd = mkstemp(path);
	assert(fd >= 0);
	close(fd);
}

static inline void writer_save_bytes(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert(fd >= 0);
	assert(write(fd, bytes, len) == (ssize_t)len);
	close(fd);
}

static inline void writer_save(struct writer *writer, const char *path)
{
	for (unsigned i = 0; i < WRITER_STREAMS; i++)
		writer_seal(writer, i);
	writer_save_bytes(path, writer->bytes, writer->len);
}

/* xorshift64*: the same numbers on every run. */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}

#endif
