/*
 * drain: chunks out of the spool, packed, onto the tape; then the target gets its slots back, so
 * that what was recorded is in one or the other at any moment. When the tape can grow no more, what
 * is left behind is counted.
 */
#ifndef MEMTAPE_COLLECT_DRAIN_H
#define MEMTAPE_COLLECT_DRAIN_H

#include "base/sort.h"
#include "capture/pack.h"
#include "collect/parts.h"
#include "collect/spool.h"
#include "write/writer.h"

struct drain {
	const struct spool *spool;
	struct writer *writer;
	struct tape_chunk *chunk;      /* private copy of a slot */
	struct capture_packer *packer; /* NULL: chunks are written as they are */
	struct parts *parts;	       /* of what is still written; NULL: taken when it is full */
	uint8_t *encoded;	       /* one chunk as it goes to the tape */
	struct sort_pair *seen;	       /* scratch: sealed slots at a first look */
	struct sort_pair *taken;       /* scratch: those to take, in the order of their streams */
	uint64_t event_count;	       /* on the tape */
	uint64_t missing_count;	       /* events that did not get onto it */
	uint64_t damaged_count;	       /* slots whose header the target had overwritten */
	int level;		       /* of compression; 0: none */
	struct err *fault;	       /* why nothing is appended any more; owned */
};

/*
 * Borrows spool and writer; level is of compression, 0: none; in_parts: drain_open_ones will be
 * called. Undone by drain_close.
 */
struct err *drain_open(struct drain *drain, const struct spool *spool, struct writer *writer,
		       int level, bool in_parts);
void drain_close(struct drain *drain);

/* Takes all sealed chunks, in the order of each stream. Returns how many there were. */
uint32_t drain_sealed(struct drain *drain);

/* Takes what has been written until a moment of chunks that are not full. */
void drain_open_ones(struct drain *drain, uint64_t until_ticks);

/* Gives all sealed slots back as they are. Returns how many there were. */
uint32_t drain_discard(struct drain *drain);

/*
 * What was recorded until a moment that is a little while ago, and nothing after it, for the last
 * time. The recorder may go on meanwhile: it gets its sealed slots back. Needs in_parts.
 */
void drain_until(struct drain *drain, uint64_t until_ticks);

/* After the target's death: the sealed ones and then those that were being written. */
void drain_rest(struct drain *drain);

/*
 * Packs a chunk (a whole slot image, not larger than the spool's) up to its last whole record and
 * appends it. Sets the chunk's event_count, also on failure.
 */
struct err *drain_append(struct drain *drain, struct tape_chunk *chunk, uint32_t slot_bytes,
			 enum writer_urgency urgency);

#endif
