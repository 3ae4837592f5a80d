/*
 * rewrite: copies a tape, leaving out or changing events on the way.
 *
 * Streams are rewritten one after the other, records in their order, so memory is that of one
 * stream's stacks (16 bytes per node) and one chunk, whatever the tape's length. Stacks that are no
 * longer referenced are left out.
 *
 * Where an allocation is left out, a STRIPPED record replaces it if an earlier live block of the
 * stream would otherwise look like the latest of its thread.
 */
#ifndef MEMTAPE_CAPTURE_REWRITE_H
#define MEMTAPE_CAPTURE_REWRITE_H

#include "capture/capture.h"
#include "capture/packed_stream.h"

/* An extended record being copied; its payload may be changed, and the buffer grown. */
struct rewrite_record {
	enum tape_extended type;
	uint64_t ticks;
	struct vec_u8 payload;
};

/* Any function may be NULL: then everything is kept unchanged. */
struct rewriter {
	void *context;
	/*
	 * The stream's ordinal-th event, from 0, not counting latencies and extended records.
	 * False: leave it out. Its node is the input's and may only be changed to TAPE_NODE_NONE.
	 */
	bool (*event)(void *context, size_t stream, uint64_t ordinal, struct tape_event *event);
	/* *keeps_ret is true. rewrite_tape updates a stack that the record names. */
	struct err *(*extended)(void *context, size_t stream, struct rewrite_record *record,
				bool *keeps_ret);
	/* The address of a frame. */
	uint64_t (*pc)(void *context, uint64_t pc);
	/* Unreferenced stacks are kept too: all have the same numbers in order of use. */
	bool keeps_stacks;
	/*
	 * Of a tape that grows: whether a chunk is rewritten. It is true of the first ones of each
	 * stream; the others, and those that may follow on the tape later, stay as they are: what
	 * they name keeps its number. The collector's stream is written after the other ones, and
	 * the chunks that stay come last, in their order.
	 */
	bool (*rewrites)(const void *context, const struct capture_chunk *chunk);
	/* Called before each chunk, with the size so far; an error ends it. */
	struct err *(*check)(void *context, uint64_t bytes_out);
	/* Adds records of the collector, after its own. */
	struct err *(*finish)(void *context, struct packed_stream *collector);
};

struct rewritten {
	uint64_t bytes_in;
	uint64_t bytes_out;
	uint64_t chunk_count;
	uint64_t event_count;  /* kept */
	uint64_t damage_count; /* places where the input could not be read */
};

/*
 * To an open, empty file; level of zstd. header: the new tape's; kind, live and chunk_bytes are set
 * here. Losses noted in the tape's header page become records.
 */
struct err *rewrite_tape(const struct capture *capture, int fd, const struct tape_header *header,
			 int level, const struct rewriter *rewriter,
			 struct rewritten *rewritten_ret);

#endif
