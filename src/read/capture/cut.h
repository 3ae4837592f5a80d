/*
 * cut: the rest of a chunk whose front is on a tape already.
 *
 * Records are relative to those before them, so the first ones of the rest are re-encoded, as in a
 * chunk that begins there. All functions are pure apart from their arguments.
 */
#ifndef MEMTAPE_CAPTURE_CUT_H
#define MEMTAPE_CAPTURE_CUT_H

#include "tape/codec.h"

/* Upper bound for the growth of a rest's records: a front has at least as many bytes. */
enum { CAPTURE_CUT_BYTES_MIN = 64 };

/* How far a chunk was taken. used 0: nothing was, and codec is in its initial state. */
struct capture_cut {
	uint32_t used; /* bytes of records, whole ones */
	uint32_t node_count;
	struct tape_codec_state codec; /* there */
};

/* A reader of the records from the cut on. */
void capture_cut_reader(struct tape_reader *reader, const struct capture_cut *cut,
			const struct tape_chunk *chunk);

/*
 * The cut after the first `used` bytes of records and `node_count` nodes of a valid chunk. False:
 * no record ends there, or there are fewer nodes.
 */
bool capture_cut_find(const struct tape_chunk *chunk, uint32_t used, uint32_t node_count,
		      struct capture_cut *cut);

/*
 * chunk, a whole slot of chunk_bytes, becomes the part after the cut; its number stays. scratch has
 * room for a slot and TAPE_EVENT_ROOM bytes.
 */
void capture_cut_front(struct tape_chunk *chunk, uint32_t chunk_bytes,
		       const struct capture_cut *cut, uint8_t *scratch);

#endif
