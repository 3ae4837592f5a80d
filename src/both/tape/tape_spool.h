/*
 * tape_spool: state that recorder and collector share about a tape being written. Part of the
 * format, for readers that find it after both were killed.
 */
#ifndef MEMTAPE_TAPE_TAPE_SPOOL_H
#define MEMTAPE_TAPE_TAPE_SPOOL_H

#include "tape/tape.h"

/*
 * The spool of a tape that a collector writes: a raw tape beside it, under the tape's name with
 * this suffix, of the same uuid. It holds what is not on the tape yet and is removed when the tape
 * is complete. A recorder whose collector has died continues alone and appends slots to it.
 */
#define TAPE_SPOOL_SUFFIX ".spool"

/*
 * How much of a spool's chunk is on the tape already, if chunks are taken in parts (in_parts).
 * Stored in the chunk's header from event_count on, whose fields have no meaning there. The
 * collector writes it before the part: if the tape has a chunk `seq` of the stream, everything up
 * to `next_*` is there, else only up to `used` and `nodes`.
 */
struct tape_taken {
	uint32_t used;	/* bytes of records */
	uint32_t nodes; /* of node_count */
	uint32_t next_used;
	uint32_t next_nodes;
	uint32_t seq; /* of the part on the tape, + 1; 0: nothing was taken */
	uint32_t reserved;
};

static_assert(sizeof(struct tape_taken) ==
		      sizeof(struct tape_chunk) - offsetof(struct tape_chunk, event_count),
	      "format");

/*
 * A leak scan that another process asks the collector for, for only one at a time may stop a
 * program: scan_asked has in its upper half how many were asked for, in the lower one the set of
 * enum tape_scan_heuristic that the last one wants. Who asks counts up and wakes the collector. One
 * scan answers all that were asked for until it began; then scan_answered is what scan_asked was.
 *
 * The descriptor is a copy of the spool from when the program stood still. With the tape's chunks
 * up to scan_answer_bytes, and all of the collector's own, it is what was recorded until then.
 */
static inline uint64_t tape_scan_ask(uint64_t asked, uint32_t heuristics)
{
	return ((asked >> 32) + 1) << 32 | heuristics;
}

/* Whether one was asked for before the other, or is the same. */
static inline bool tape_scan_ask_is_covered(uint64_t asked, uint64_t answered)
{
	return (int32_t)((uint32_t)(answered >> 32) - (uint32_t)(asked >> 32)) >= 0;
}

#endif
