/*
 * tape_allocator: the record TAPE_EXT_ALLOCATOR (tape.h): an allocator with its own function names
 * whose calls are recorded.
 */
#ifndef MEMTAPE_TAPE_TAPE_ALLOCATOR_H
#define MEMTAPE_TAPE_TAPE_ALLOCATOR_H

#include "core/core.h"

/*
 * Totals so far: a later record of the same address and text replaces an earlier one. Two lines of
 * text follow: its name, and the prefix of its functions' names.
 */
struct tape_allocator {
	uint64_t address;   /* in the object that exports the functions; 0: no loaded object does */
	uint32_t functions; /* distinct functions that are called by name */
	uint32_t objects;   /* objects that call them by name */
	uint32_t places;    /* call slots redirected to the recorder, in all objects */
	uint32_t flags;	    /* enum tape_allocator_flag */
};

enum tape_allocator_flag {
	TAPE_ALLOCATOR_ASKED = 1 << 0,	 /* the user named it */
	TAPE_ALLOCATOR_PROGRAMS = 1 << 1 /* malloc and the like, defined by the executable */
};

static_assert(sizeof(struct tape_allocator) == 24, "format");

#endif
