/* edit: how a tape was edited after recording: the payload of EDIT records. */
#ifndef MEMTAPE_TAPE_EDIT_H
#define MEMTAPE_TAPE_EDIT_H

#include "tape/tape.h"

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

#endif
