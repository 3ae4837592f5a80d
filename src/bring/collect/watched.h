/*
 * watched: which memory of a process is looked at for touched pages, and what a look finds there.
 * Internal to collect: written.c and accessed.c are the two ways to look.
 */
#ifndef MEMTAPE_COLLECT_WATCHED_H
#define MEMTAPE_COLLECT_WATCHED_H

#include "scan/maps.h"

/* Gets what a look finds, in ascending order: each range that is watched, then the pages in it. */
struct watched_visitor {
	void (*range)(void *context, uint64_t begin, uint64_t end);
	void (*pages)(void *context, uint64_t begin, uint64_t end, bool is_touched);
	void *context;
};

/*
 * Memory of the program's own, such as allocators use: private, anonymous, writable. first are the
 * mappings when watching began: what of them is the recorder's is not.
 */
bool watched_is(const struct maps *first, const struct maps *maps, const struct maps_entry *entry);

#endif
