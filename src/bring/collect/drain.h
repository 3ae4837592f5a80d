/*
 * drain: takes chunks out of the spool, packs them and appends them to the tape; then the slots are
 * returned to the target, so that recorded data is always in one or the other. When the tape cannot
 * grow any more, the rest is counted as missing.
 */
#ifndef MEMTAPE_COLLECT_DRAIN_H
#define MEMTAPE_COLLECT_DRAIN_H

#include "base/sort.h"
#include "capture/pack.h"
#include "collect/companion.h"
#include "collect/parts.h"
#include "collect/spool.h"
#include "write/writer.h"

struct drain {
	const struct spool *spool;
	struct writer *writer;
	struct tape_chunk *chunk;      /* private copy of a slot */
	struct capture_packer *packer; /* NULL: chunks are written as they are */
	struct parts *parts;	       /* of chunks being written, once they are taken */
	struct companion *companion;   /* is given what is on the tape; NULL: there is none */
	uint8_t *encoded;	       /* one chunk as written to the tape */
	struct sort_pair *seen;	       /* scratch: sealed slots at the first pass */
	struct sort_pair *taken;       /* scratch: those to take, ordered by stream */
	uint64_t event_count;	       /* on the tape */
	uint64_t missing_count;	       /* events that were not written to it */
	uint64_t damaged_count;	       /* slots whose header the target had overwritten */
	int level;		       /* compression level; 0: none */
	struct err *fault;	       /* why nothing is appended any more; owned */
};

/*
 * Borrows spool and writer; level is the compression level, 0: none; in_parts: drain_open_ones will
 * be called, else after drain_begin_parts. Undone by drain_close.
 */
struct err *drain_open(struct drain *drain, const struct spool *spool, struct writer *writer,
		       int level, bool in_parts);
void drain_close(struct drain *drain);

/* drain_open_ones will be called from now on. */
void drain_begin_parts(struct drain *drain);
bool drain_is_in_parts(const struct drain *drain);

/* Takes all sealed chunks, in the order of each stream. Returns their number. */
uint32_t drain_sealed(struct drain *drain);
uint32_t drain_some(struct drain *drain, uint32_t most); /* the same of at most so many */

/*
 * Visits a copy of each chunk that is in the spool now, full or not; index is its slot's. Of a stream
 * there are no gaps between them, nor to what is on the tape. An error ends it.
 */
struct err *drain_each(struct drain *drain,
		       struct err *(*visit)(void *context, uint32_t index,
					    const struct tape_chunk *chunk),
		       void *context);

/* Takes what was written until a given time to chunks that are not full. */
void drain_open_ones(struct drain *drain, uint64_t until_ticks);

/* Returns all sealed slots without taking them. Returns their number. */
uint32_t drain_discard(struct drain *drain);

/*
 * The last drain: takes what was recorded until a time shortly ago, and nothing after it. The
 * recorder may go on meanwhile: its sealed slots are returned. Needs in_parts.
 */
void drain_until(struct drain *drain, uint64_t until_ticks);

/* After the target's death: takes the sealed chunks, then those that were being written. */
void drain_rest(struct drain *drain);

/*
 * Packs a chunk (a whole slot image, not larger than the spool's) up to its last whole record and
 * appends it. Sets the chunk's event_count, also on failure.
 */
struct err *drain_append(struct drain *drain, struct tape_chunk *chunk, uint32_t slot_bytes,
			 enum writer_urgency urgency);

#endif
