/*
 * edit: what was done to a tape after it was recorded: the payload of EDIT records.
 */
#ifndef MEMTAPE_TAPE_EDIT_H
#define MEMTAPE_TAPE_EDIT_H

#include "tape/tape.h"

/* A text follows: the filter. */
struct tape_edit {
	uint32_t what; /* enum tape_edit_flag */
	uint32_t reserved;
	uint64_t min_lifetime_ns;
	uint64_t from_ns; /* since the beginning of recording */
	uint64_t until_ns;
	uint64_t stripped_count; /* allocations left out */
	uint64_t stripped_bytes; /* requested, of all of them */
	uint64_t hidden_bytes;	 /* alive of them at once, at most */
};

enum tape_edit_flag {
	TAPE_EDIT_LIFETIME = 1 << 0, /* what was freed in less than min_lifetime_ns is left out */
	TAPE_EDIT_CUT = 1 << 1,	     /* what was not alive in from_ns .. until_ns is left out */
	TAPE_EDIT_FILTER = 1 << 2,   /* what the filter, the text, does not select is left out */
	TAPE_EDIT_FREE_STACKS = 1 << 3, /* stacks of frees are left out */
	TAPE_EDIT_NAMES = 1 << 4,	/* embedded names are left out */
	TAPE_EDIT_SPACE = 1 << 5,	/* snapshots of the address space are left out */
	TAPE_EDIT_ANONYMISED = 1 << 6	/* names, paths, numbers and addresses are replaced */
};

static_assert(sizeof(struct tape_edit) == 56, "format");

#endif
