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

/*
 * The cycle counter and the monotonic clock at one moment: of several tries the one that was
 * interrupted least.
 */
struct clock_moment {
	uint64_t ticks, ns;
};

struct clock_moment clock_moment(void);

#endif
