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
 * Of a session: behind the NUL of an abstract socket's name, and then the hash of the folder in 16
 * hexadecimal digits. Processes connect before they begin and send the name of their tape, so that the
 * kernel keeps how they end for the collector, however soon that is.
 */
#define TAPE_SESSION_SOCKET "memtape/session/"

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
	uint32_t seq;	      /* of the part on the tape, + 1; 0: nothing was taken */
	uint32_t oldest_node; /* not changed */
};

static_assert(sizeof(struct tape_taken) ==
		      sizeof(struct tape_chunk) - offsetof(struct tape_chunk, event_count),
	      "format");

#endif
