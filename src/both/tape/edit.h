/*
 * edit: what was left out of a tape or changed, after recording (the payload of EDIT records) or
 * meanwhile (of ROTATED).
 */
#ifndef MEMTAPE_TAPE_EDIT_H
#define MEMTAPE_TAPE_EDIT_H

#include "tape/tape.h"

ARCH_LITTLE_BEGIN

/* Followed by a text: the filter. */
struct tape_edit {
	uint32_t what; /* enum tape_edit_flag */
	uint32_t reserved;
	uint64_t min_lifetime_ns;
	uint64_t from_ns; /* since the beginning of recording */
	uint64_t until_ns;
	uint64_t stripped_count; /* allocations left out */
	uint64_t stripped_bytes; /* requested by all of them */
	uint64_t hidden_bytes;	 /* peak number of them live at once */
};

enum tape_edit_flag {
	TAPE_EDIT_LIFETIME = 1 << 0, /* blocks freed in less than min_lifetime_ns are left out */
	TAPE_EDIT_CUT = 1 << 1,	     /* blocks not live in from_ns .. until_ns are left out */
	TAPE_EDIT_FILTER = 1 << 2,   /* blocks not selected by the filter (the text) are left out */
	TAPE_EDIT_FREE_STACKS = 1 << 3, /* stacks of frees are left out */
	TAPE_EDIT_NAMES = 1 << 4,	/* embedded names are left out */
	TAPE_EDIT_SPACE = 1 << 5,	/* snapshots of the address space are left out */
	TAPE_EDIT_ANONYMISED = 1 << 6	/* names, paths, numbers and addresses are replaced */
};

static_assert(sizeof(struct tape_edit) == 56, "format");

/*
 * ROTATED: the tape's size is bounded, and what was freed long ago was left out while it was
 * recorded. What lives is all there, whatever its age. Sums are of what is missing: with what is on
 * the tape they are those of the whole recording.
 */
struct tape_rotated {
	uint64_t from_ticks; /* shifted: no event is missing of what happened after it */
	uint64_t rotation_count;
	uint64_t allocated_count; /* with reallocs of live blocks, as in all sums of a tape */
	uint64_t allocated_bytes; /* requested */
	uint64_t freed_count;
	uint64_t freed_bytes;
	uint64_t realloc_count; /* of a live block; its second half may be an allocation here */
	uint64_t failed_count;	/* calls that returned no block */
	uint64_t unknown_free_count; /* frees of blocks that were never seen allocated */
	uint64_t lost_free_count;    /* blocks freed unseen */
	uint64_t record_count;	     /* marks, samples and other records */
	uint64_t peak_count;	     /* blocks live when most bytes were, until from_ticks */
	uint64_t peak_bytes;
	uint64_t peak_ticks; /* shifted */
};

static_assert(sizeof(struct tape_rotated) == 112, "format");

ARCH_LITTLE_END

#endif
