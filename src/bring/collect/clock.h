/*
 * clock: the clocks used on a tape, read by a process other than the recorder. Thread-safe.
 */
#ifndef MEMTAPE_COLLECT_CLOCK_H
#define MEMTAPE_COLLECT_CLOCK_H

#include "tape/tape.h"

uint64_t clock_cpu_ns(void); /* used by this thread */

/* The clock the tape uses, unshifted. */
uint64_t clock_raw_ticks(enum tape_clock clock);

/* All clocks, read at the same moment. */
struct tape_clock_pair clock_pair(enum tape_clock clock);

#endif
