/*
 * heap_walk: the blocks of a program that nobody recorded, as its glibc has them: all chunks of all
 * arenas, from the first to the top, without those that are free, also without those that wait in
 * lists for the next allocation (fastbins, and each thread's cache) and look as if they were in
 * use; and chunks that have a mapping of their own.
 *
 * Nothing is known but the memory. The main arena is found in libc's writable data by its bins:
 * 127 pairs of pointers, each of which leads to itself, or to a chunk that leads back. The layouts
 * are those of glibc 2.26 to 2.41 on 64-bit processors. Not followed are a main arena that had to
 * leave the break for mappings, of which the first and the last are walked, and heaps of huge
 * pages.
 *
 * What is found are usable sizes: nobody knows which were requested. Memory is hostile: what does
 * not fit is counted, and never believed.
 */
#ifndef MEMTAPE_SCAN_HEAP_WALK_H
#define MEMTAPE_SCAN_HEAP_WALK_H

#include "base/err.h"
#include "base/vec.h"
#include "scan/maps.h"
#include "scan/memory.h"
#include "scan/stop.h"

struct heap_range {
	uint64_t begin, end;
};

VEC_DEFINE(heap_ranges, struct heap_range);

struct heap_request {
	struct memory memory;
	const struct maps *maps;
	const struct stop *stop;	/* threads */
	const struct heap_ranges *data; /* writable data of libc, or of a static executable */
};

struct heap_block {
	uint64_t address;
	uint64_t usable_bytes;
	bool is_mapped; /* has a mapping of its own */
};

VEC_DEFINE(heap_blocks, struct heap_block);

/*
 * By address. Of memory that is no heap after all there may be blocks that overlap: the first stays.
 * False: no memory.
 */
bool heap_blocks_order(struct heap_blocks *blocks, uint64_t *overlapping_ret);

struct heap {
	struct heap_blocks blocks;  /* in use, by address, not overlapping */
	struct heap_ranges regions; /* memory of arenas */
	uint64_t arena_count;
	uint64_t cache_count; /* threads' caches, blocks of libc's own that are not in the list */
	uint64_t cached_count, cached_bytes;	   /* wait in caches and fastbins */
	uint64_t free_count, free_bytes;	   /* usable */
	uint64_t mapped_count, mapped_bytes;	   /* with mappings of their own, whole mappings */
	uint64_t expected_count, expected_bytes;   /* of them, as malloc counts */
	bool is_expected;			   /* that is known */
	uint64_t broken_lists;			   /* do not lead where they should */
	uint64_t undecoded_count, undecoded_bytes; /* pieces of arenas that are no chunks */
};

/* ERR_NOT_FOUND: there is no heap of glibc. The caller deinits heap on success. */
struct err *heap_walk(const struct heap_request *request, struct heap *heap);

/*
 * The same of a program that has musl's malloc (mallocng, 1.2.1 and later). That keeps what it knows of
 * its blocks apart from them, in areas that begin with a secret number; so it is found in libc's data
 * by that number, which is at the beginning of every area, too. Groups of up to 32 slots of one size
 * have its blocks; each says where its group begins, which slot it is, and how much of the slot was not
 * asked for. Sizes are those that were asked for: malloc_usable_size() returns these.
 */
struct err *heap_musl_walk(const struct heap_request *request, struct heap *heap);

void heap_deinit(struct heap *heap);
CLEAN_DEFINE_DEINIT(heap_deinit, struct heap);

#endif
