/*
 * stacks: those of threads that have ended, which libc keeps for the next thread, or until somebody
 * joins the thread. What is on them holds nothing; but the result of a thread that can still be
 * joined is not lost.
 */
#ifndef MEMTAPE_SCAN_STACKS_H
#define MEMTAPE_SCAN_STACKS_H

#include "scan/maps.h"
#include "scan/memory.h"
#include "scan/stop.h"

struct stacks {
	const struct stop *stop;
	const struct maps *maps;
	const struct memory *memory;
};

/* Whether this mapping, on which no thread runs, is such a stack: below it is a guard. */
bool stacks_is_left(const struct stacks *stacks, const struct maps_entry *entry);

/* Of one that is left: whether its thread can be joined, and where glibc has what it returned. */
bool stacks_unjoined(const struct stacks *stacks, const struct maps_entry *entry,
		     uint64_t *begin_ret, uint64_t *end_ret);

#endif
