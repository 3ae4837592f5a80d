/*
 * tape_allocator: the record TAPE_EXT_ALLOCATOR (tape.h): an allocator whose functions have names
 * of their own, and whose calls are recorded.
 */
#ifndef MEMTAPE_TAPE_TAPE_ALLOCATOR_H
#define MEMTAPE_TAPE_TAPE_ALLOCATOR_H

#include "core/core.h"

/*
 * Totals so far: a later record of the same address and text replaces an earlier one. Two lines of
 * text follow: its name, and what its functions' names begin with.
 */
struct tape_allocator {
	uint64_t address;   /* in the object that exports the functions; 0: no loaded object does */
	uint32_t functions; /* different ones that are called by name */
	uint32_t objects;   /* that call them so */
	uint32_t places;    /* of calls that were led to the recorder, in all of them */
	uint32_t flags;	    /* enum tape_allocator_flag */
};

enum tape_allocator_flag {
	TAPE_ALLOCATOR_ASKED = 1 << 0,	 /* the user named it */
	TAPE_ALLOCATOR_PROGRAMS = 1 << 1 /* malloc and its kin, which the executable defines */
};

static_assert(sizeof(struct tape_allocator) == 24, "format");

#endif
