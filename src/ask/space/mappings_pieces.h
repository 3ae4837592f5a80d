/*
 * mappings_pieces: which mapping every address of an address space belongs to, as ranges: an array
 * of pages would answer the same (and does, in the unit test). Internal to mappings.
 *
 * Ranges are of whole pages in [begin, end), begin < end; the operations are those of the system
 * calls. Changing costs O(pieces). False: out of memory, nothing is changed.
 */
#ifndef MEMTAPE_SPACE_MAPPINGS_PIECES_H
#define MEMTAPE_SPACE_MAPPINGS_PIECES_H

#include "base/vec.h"

struct mappings_piece {
	uint64_t begin;
	uint64_t end;
	uint32_t mapping; /* whatever the caller counts by */
	uint32_t prot;
};

VEC_DEFINE(mappings_piece_vec, struct mappings_piece);

struct mappings_pieces {
	struct mappings_piece_vec all; /* ascending, apart, neighbours that are alike are one */
	/*
	 * Told of every range of a mapping that goes (bytes < 0), then of what comes; may be NULL.
	 */
	void (*changed)(void *context, uint32_t mapping, int64_t bytes);
	void *context;
};

void mappings_pieces_deinit(struct mappings_pieces *pieces);

/* Index of the first piece that ends after the address; their number if there is none. */
size_t mappings_pieces_find(const struct mappings_pieces *pieces, uint64_t address);

/* mmap with MAP_FIXED: the range is this mapping's, whatever it was. */
bool mappings_pieces_set(struct mappings_pieces *pieces, uint64_t begin, uint64_t end,
			 uint32_t mapping, uint32_t prot);
bool mappings_pieces_unmap(struct mappings_pieces *pieces, uint64_t begin, uint64_t end);
bool mappings_pieces_protect(struct mappings_pieces *pieces, uint64_t begin, uint64_t end,
			     uint32_t prot);

/*
 * mremap of [begin, end) to [to, to + bytes): what is longer goes on as the last page was, what is
 * shorter loses its end. The ranges may be the same place, or apart. Nothing mapped at begin:
 * nothing happens. With keeps_old the old range stays mapped as well (MREMAP_DONTUNMAP).
 */
bool mappings_pieces_move(struct mappings_pieces *pieces, uint64_t begin, uint64_t end, uint64_t to,
			  uint64_t bytes, bool keeps_old);

#endif
