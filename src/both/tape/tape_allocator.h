/*
 * tape_allocator: the record TAPE_EXT_ALLOCATOR (tape.h): an allocator with its own function names
 * whose calls are recorded.
 */
#ifndef MEMTAPE_TAPE_TAPE_ALLOCATOR_H
#define MEMTAPE_TAPE_TAPE_ALLOCATOR_H

#include "tape/tape.h"

ARCH_LITTLE_BEGIN

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

/*
 * The program's own pools, of which it says what they hand out (TAPE_EXT_POOL, include/memtape/memtape.h).
 * The objects of a pool lie in blocks of the heap or in mappings: they are no blocks, and no sum of the
 * heap counts them.
 */
enum tape_pool_what {
	TAPE_POOL_CREATE = 0,  /* the text after the struct is its name */
	TAPE_POOL_DESTROY = 1, /* its objects are freed; its address may be another pool's */
	TAPE_POOL_CLEAR = 2,   /* its objects are freed */
	TAPE_POOL_ALLOC = 3,
	TAPE_POOL_FREE = 4,
	TAPE_POOL_REALLOC = 5 /* old_address is freed, and address allocated */
};

/*
 * A payload ends where what it says ends: after `pool` for CREATE (then the text), DESTROY and CLEAR,
 * after `address` for FREE, after `bytes` for ALLOC. What is not there is 0.
 */
struct tape_pool {
	uint32_t what; /* enum tape_pool_what */
	uint32_t node; /* stack of the call; TAPE_NODE_NONE: not recorded */
	uint64_t pool; /* identifies it from its CREATE to its DESTROY: an address */
	uint64_t address;
	uint64_t bytes;
	uint64_t old_address;
};

static_assert(sizeof(struct tape_pool) == 40, "format");
static_assert(offsetof(struct tape_pool, node) == offsetof(struct tape_mark, node), "the same");

/* Bytes of the payload, without text; 0: no such kind. */
static inline size_t tape_pool_bytes(uint32_t what)
{
	switch (what) {
	case TAPE_POOL_CREATE:
	case TAPE_POOL_DESTROY:
	case TAPE_POOL_CLEAR:
		return offsetof(struct tape_pool, address);
	case TAPE_POOL_FREE:
		return offsetof(struct tape_pool, bytes);
	case TAPE_POOL_ALLOC:
		return offsetof(struct tape_pool, old_address);
	case TAPE_POOL_REALLOC:
		return sizeof(struct tape_pool);
	default:
		return 0;
	}
}

ARCH_LITTLE_END

#endif
