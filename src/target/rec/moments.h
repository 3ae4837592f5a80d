/*
 * moments: the data file of glibc's memusage, written while the program runs, where calls are
 * counted (`counts=1,moments=1`): two records of header, then one after every call that changed
 * something, of 24 bytes each: heap, stack (bytes), the low and the high half of the time (ticks,
 * not shifted).
 *
 * Places are given out by one counter that all threads share: this is the price of a file that has
 * one order. They lie in windows of a ring; who fills the last place of a window writes it to the
 * file. The file is not mapped: each new page of a mapped file costs more than all its records.
 */
#ifndef MEMTAPE_REC_MOMENTS_H
#define MEMTAPE_REC_MOMENTS_H

#include "rec/rec.h"
#include "tape/moments_ring.h"

/*
 * Before the first event of a process, and in a forked child that has one of its own. replaces: in
 * the place of a file of that name. 0 or -errno.
 */
int rec_moments_open(const char *pattern, bool replaces);

/* After a call of the lane's thread: the heap of all threads. */
void rec_moments_add(struct rec_lane *lane, uint64_t heap_bytes);

/*
 * The file as it is meant to be read, with its header. Calls of other threads are not in it from
 * now on, nor any, until it is reopened.
 */
void rec_moments_close(uint64_t heap_peak, uint64_t stack_peak);
void rec_moments_reopen(void);

#endif
