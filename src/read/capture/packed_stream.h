/*
 * packed_stream: the records of one stream, put into chunks of a packed tape as they come. A chunk
 * is written when the next record does not fit. Several streams may be interleaved in one file.
 *
 * Times must not go back within a stream. One thread at a time for a file and its streams.
 */
#ifndef MEMTAPE_CAPTURE_PACKED_STREAM_H
#define MEMTAPE_CAPTURE_PACKED_STREAM_H

#include "capture/packed_file.h"
#include "tape/codec.h"

struct packed_stream {
	struct packed_file *file;
	uint32_t id;
	struct tape_chunk *image; /* its packed_file_chunk_bytes; NULL: nothing stored yet */
	struct tape_codec_state codec;
	uint32_t next_node;
	uint32_t next_seq;
	uint32_t oldest_node; /* of the next chunk, which jumps; 0: it does not */
	uint32_t node_bytes;  /* in this chunk */
	uint64_t last_ticks;  /* the latest time of a record, 0 */
};

/*
 * Undone by packed_stream_deinit. Memory: one chunk, from its first record on. first_seq: number of
 * its first chunk, 0.
 */
void packed_stream_init(struct packed_stream *stream, struct packed_file *file, uint32_t id,
			uint32_t first_seq);
void packed_stream_deinit(struct packed_stream *stream); /* all zeros is fine */
CLEAN_DEFINE_DEINIT(packed_stream_deinit, struct packed_stream);

/*
 * What follows - nodes and the record that needs them - goes into one chunk, if it fits into one at
 * all.
 */
struct err *packed_stream_reserve(struct packed_stream *stream, size_t node_count,
				  size_t record_bytes);

/* Defines a node; parent is one of this stream's or a root. 0 is never a node's number. */
struct err *packed_stream_node(struct packed_stream *stream, uint32_t parent, uint64_t pc,
			       bool exact, uint32_t *node_ret);

/* An event, or with fn TAPE_FN_LATENCY the duration of the one before. */
struct err *packed_stream_event(struct packed_stream *stream, const struct tape_event *event);

/* ERR_FORMAT: larger than a record may be. Nodes in the payload are the caller's responsibility. */
struct err *packed_stream_extended(struct packed_stream *stream, enum tape_extended type,
				   uint64_t ticks, const void *payload, size_t bytes,
				   const void *tail, size_t tail_bytes);

/*
 * For many interleaved streams: writes what `from` holds and takes over its memory. The stream has
 * none; `from` may continue, with new memory.
 */
struct err *packed_stream_take_memory(struct packed_stream *stream, struct packed_stream *from);

/*
 * The next chunk's nodes are numbered from `node` on, and no record after it names one before that
 * (TAPE_CHUNK_JUMP).
 */
struct err *packed_stream_jump(struct packed_stream *stream, uint32_t node);

/*
 * Writes the chunk that holds the last record, with a number that may be higher than the next one:
 * it stands for those in between. oldest_node: as with packed_stream_jump. ERR_LIMIT: that number is
 * taken.
 */
struct err *packed_stream_end_as(struct packed_stream *stream, uint32_t seq, uint32_t oldest_node);

/* Writes the last chunk. More may follow. */
struct err *packed_stream_flush(struct packed_stream *stream);

#endif
