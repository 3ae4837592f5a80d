/*
 * moments: the data file of glibc's memusage, written while the program runs, if calls are counted
 * (`counts=1,moments=1`): two header records, then one per call that changed something, of 24 bytes
 * each: heap, stack (bytes), the low and the high half of the time (ticks, not shifted).
 *
 * Entries are allocated by one counter that all threads share: this is the price of a single order
 * in the file. They are in windows of a ring; the thread that fills the last entry of a window
 * writes it to the file. The file is not mapped: each new page of a mapped file costs more than all
 * its records.
 */
#ifndef MEMTAPE_REC_MOMENTS_H
#define MEMTAPE_REC_MOMENTS_H

#include "rec/rec.h"
#include "tape/moments_ring.h"

/*
 * Before the first event of a process, and in a forked child that has its own file. replaces:
 * replace a file of that name. 0 or -errno.
 */
int rec_moments_open(const char *pattern, bool replaces);

/* After a call of the lane's thread: the heap of all threads. */
void rec_moments_add(struct rec_lane *lane, uint64_t heap_bytes);

/*
 * Completes the file for reading, with its header. Calls of other threads are not in it from now
 * on, nor any, until it is reopened.
 */
void rec_moments_close(uint64_t heap_peak, uint64_t stack_peak);
void rec_moments_reopen(void);

#endif
