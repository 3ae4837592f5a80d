/*
 * mappings_pieces: maps addresses to mappings, as ranges; an array of pages would give the same
 * results (and does, in the unit test). Internal to mappings.
 *
 * Ranges are whole pages [begin, end), begin < end; operations mirror the system calls. A change
 * costs O(pieces). False: out of memory, nothing was changed.
 */
#ifndef MEMTAPE_SPACE_MAPPINGS_PIECES_H
#define MEMTAPE_SPACE_MAPPINGS_PIECES_H

#include "base/vec.h"

struct mappings_piece {
	uint64_t begin;
	uint64_t end;
	uint32_t mapping; /* the caller's index */
	uint32_t prot;
};

VEC_DEFINE(mappings_piece_vec, struct mappings_piece);

struct mappings_pieces {
	struct mappings_piece_vec all; /* ascending, disjoint, equal neighbours are joined */
	/*
	 * Called for every range a mapping loses (bytes < 0), then for those added; may be NULL.
	 */
	void (*changed)(void *context, uint32_t mapping, int64_t bytes);
	void *context;
};

void mappings_pieces_deinit(struct mappings_pieces *pieces);

/* Index of the first piece that ends after the address; all.count if none. */
size_t mappings_pieces_find(const struct mappings_pieces *pieces, uint64_t address);

/* mmap with MAP_FIXED: assigns the range to this mapping. */
bool mappings_pieces_set(struct mappings_pieces *pieces, uint64_t begin, uint64_t end,
			 uint32_t mapping, uint32_t prot);
bool mappings_pieces_unmap(struct mappings_pieces *pieces, uint64_t begin, uint64_t end);
bool mappings_pieces_protect(struct mappings_pieces *pieces, uint64_t begin, uint64_t end,
			     uint32_t prot);

/*
 * mremap of [begin, end) to [to, to + bytes): growth extends the last page, shrinking drops the
 * end. The ranges may be equal or disjoint. Does nothing if nothing is mapped at begin. With
 * keeps_old the old range stays mapped as well (MREMAP_DONTUNMAP).
 */
bool mappings_pieces_move(struct mappings_pieces *pieces, uint64_t begin, uint64_t end, uint64_t to,
			  uint64_t bytes, bool keeps_old);

#endif
