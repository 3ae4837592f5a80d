/*
 * tape_touched: the record TAPE_EXT_TOUCHED (tape.h), a part of a look at which pages the program
 * has touched since the look before, written by the collector; prose in docs/tape-format.md.
 */
#ifndef MEMTAPE_TAPE_TAPE_TOUCHED_H
#define MEMTAPE_TAPE_TAPE_TOUCHED_H

#include "core/core.h"

/*
 * Lines follow, or the reason of TAPE_TOUCHED_TROUBLE or TAPE_TOUCHED_BLIND. Each line is a range that is watched:
 *
 *	BEGIN END RUNS		addresses in hex, "7f0012340000 7f0012350000 +3=a-3"
 *
 * RUNS are counts of pages in hex, from BEGIN to END, each behind what they are: + touched since
 * the look before, = not touched since then, - no memory behind them. A page that is seen for the
 * first time counts as touched if there is memory behind it.
 */
struct tape_touched {
	uint64_t begin_ticks; /* shifted, before the kernel was asked; the record's time is after */
	uint64_t period_ns;   /* wanted between two looks: only the last one may come sooner */
	uint32_t part;	      /* counts the records of a look from 0 */
	uint16_t flags;	      /* enum tape_touched_flag */
	uint16_t kind;	      /* enum tape_touched_kind */
	uint32_t gap_pages;   /* so many other pages between touched ones count as touched */
	uint32_t reserved;
};

enum tape_touched_flag {
	TAPE_TOUCHED_FIRST = 1 << 0,   /* watching begins: nothing is known of the time before */
	TAPE_TOUCHED_LAST = 1 << 1,    /* last part: the look is complete */
	TAPE_TOUCHED_TROUBLE = 1 << 2, /* no more looks, and why */
	TAPE_TOUCHED_EXIT = 1 << 3, /* the program is about to end: it may have freed what it had */
	TAPE_TOUCHED_BLIND = 1 << 4 /* no look: why those that follow do not see what is read */
};

enum tape_touched_kind {
	TAPE_TOUCHED_WRITES = 1, /* what was only read is untouched */
	TAPE_TOUCHED_USES = 2	 /* reads and writes; a huge page is one page */
};

static_assert(sizeof(struct tape_touched) == 32, "format");

#endif
