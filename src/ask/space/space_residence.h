/*
 * space_residence: which bytes of blocks have memory behind them, by a snapshot of the address
 * space. The precision is a page: a byte is resident if its page is.
 */
#ifndef MEMTAPE_SPACE_SPACE_RESIDENCE_H
#define MEMTAPE_SPACE_SPACE_RESIDENCE_H

#include "space/mappings.h"

/* Ranges, ascending and disjoint, with the bytes before each. */
struct space_range {
	uint64_t begin;
	uint64_t end;
	uint64_t before;
};

VEC_DEFINE(space_ranges, struct space_range);

/* All zeros: nothing is known. */
struct space_residence {
	struct space_ranges known;    /* mapped, and which pages are resident is known exactly */
	struct space_ranges resident; /* of these */
	struct space_ranges swapped;  /* of the known ones, too */
	struct space_ranges zero;
};

/* Of the image; the caller deinits it on success. */
struct err *space_residence_find(const struct mappings_image *image,
				 struct space_residence *residence_ret);
void space_residence_deinit(struct space_residence *residence);
CLEAN_DEFINE_DEINIT(space_residence_deinit, struct space_residence);

/* The bytes of a block; their sum is its size. */
struct space_resident {
	uint64_t resident;
	uint64_t swapped;
	uint64_t untouched; /* never written to, or given back */
	uint64_t unknown;   /* not mapped then, or pages were not listed */
	uint64_t tail;	    /* of untouched: at its end */
	uint64_t zero;	    /* of untouched: only read, which maps the zero page that all share */
};

struct space_resident space_resident_of(const struct space_residence *residence, uint64_t address,
					uint64_t bytes);

#endif
