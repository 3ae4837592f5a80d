/*
 * rewrite: a tape is read and written anew, with events left out or changed on the way.
 *
 * Streams are rewritten one after the other, records in their order, so memory is that of one
 * stream's stacks (16 bytes a node) and of a chunk, whatever the tape's length. Stacks that nothing
 * names any more are left out.
 *
 * Where an allocation is left out, a STRIPPED record stands for it if what is alive before it in
 * the stream would look as if it had been the latest of its thread.
 */
#ifndef MEMTAPE_CAPTURE_REWRITE_H
#define MEMTAPE_CAPTURE_REWRITE_H

#include "capture/capture.h"
#include "capture/packed_stream.h"

/* An extended record on its way; what its payload says may be changed, and the buffer grown. */
struct rewrite_record {
	enum tape_extended type;
	uint64_t ticks;
	struct vec_u8 payload;
};

/* Any function may be NULL: then all is kept as it is. */
struct rewriter {
	void *context;
	/*
	 * The stream's ordinal-th event, from 0; latencies and extended records do not count.
	 * False: leave it out. Its node is the input's; it may be made TAPE_NODE_NONE, no other.
	 */
	bool (*event)(void *context, size_t stream, uint64_t ordinal, struct tape_event *event);
	/* *keeps_ret is true. A stack that the record names is kept right by rewrite_tape. */
	struct err *(*extended)(void *context, size_t stream, struct rewrite_record *record,
				bool *keeps_ret);
	/* The address of a frame. */
	uint64_t (*pc)(void *context, uint64_t pc);
	/*
	 * Stacks that nothing names stay too: all have the same numbers in the order of their use.
	 */
	bool keeps_stacks;
	/* More records of the collector, behind its own. */
	struct err *(*finish)(void *context, struct packed_stream *collector);
};

struct rewritten {
	uint64_t bytes_in;
	uint64_t bytes_out;
	uint64_t event_count;  /* kept */
	uint64_t damage_count; /* places where the input could not be read */
};

/*
 * To an open, empty file; level of zstd. header: the new tape's, of which kind, live and
 * chunk_bytes are set here. What the header page of a raw tape says of losses becomes records.
 */
struct err *rewrite_tape(const struct capture *capture, int fd, const struct tape_header *header,
			 int level, const struct rewriter *rewriter,
			 struct rewritten *rewritten_ret);

#endif
