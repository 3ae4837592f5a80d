/*
 * clock: the times on a tape, as a process beside the recorder reads them. Any thread.
 */
#ifndef MEMTAPE_COLLECT_CLOCK_H
#define MEMTAPE_COLLECT_CLOCK_H

#include "tape/tape.h"

uint64_t clock_cpu_ns(void); /* that this thread has used */

/* The clock the tape uses, unshifted. */
uint64_t clock_raw_ticks(enum tape_clock clock);

/* All clocks at one moment. */
struct tape_clock_pair clock_pair(enum tape_clock clock);

#endif
