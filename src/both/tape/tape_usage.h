/*
 * tape_usage: samples of memory as the kernel counts it: of the process, of its cgroup and of the
 * machine. Included by tape.h.
 */
#ifndef MEMTAPE_TAPE_TAPE_USAGE_H
#define MEMTAPE_TAPE_TAPE_USAGE_H

#include "core/core.h"

ARCH_LITTLE_BEGIN

/* UINT64_MAX: unknown. Bytes, except for the fault counts. */
struct tape_usage {
	uint64_t rss_bytes;
	uint64_t pss_bytes;
	uint64_t swap_bytes;
	uint64_t virtual_bytes;
	uint64_t shared_bytes;
	uint64_t cgroup_bytes;
	uint64_t cgroup_limit_bytes; /* from 2^60 on: no limit */
	uint64_t minor_faults;
	uint64_t major_faults;
};

static_assert(sizeof(struct tape_usage) == 72, "format");

/* UINT64_MAX: unknown, and of a limit that there is none. Counts only grow. */
struct tape_system {
	uint64_t memory_bytes; /* of the machine */
	uint64_t available_bytes;
	uint64_t swap_bytes; /* all swap there is */
	uint64_t swap_free_bytes;
	uint64_t swapped_in_bytes; /* since the machine was started, as all counts */
	uint64_t swapped_out_bytes;
	uint64_t major_faults;
	uint64_t oom_kills;
	uint64_t some_avg10; /* of the last 10 s, something waited: hundredths of a percent */
	uint64_t full_avg10; /* everything did */
	uint64_t some_us;    /* microseconds in which something waited */
	uint64_t full_us;
	/* Of the process's own cgroup; counts since it was made. */
	uint64_t cgroup_bytes;
	uint64_t cgroup_inactive_bytes; /* of it, cache that is freed first */
	uint64_t cgroup_limit_bytes;
	uint64_t cgroup_high_bytes; /* above it, it is slowed down */
	uint64_t cgroup_limit_hits;
	uint64_t cgroup_high_hits;
	uint64_t cgroup_ooms; /* times that nothing could be freed at the limit */
	uint64_t cgroup_oom_kills;
	uint64_t cgroup_some_avg10;
	uint64_t cgroup_full_avg10;
	uint64_t cgroup_some_us;
	uint64_t cgroup_full_us;
};

static_assert(sizeof(struct tape_system) == 192, "format");

/* The process's cgroup from here on; its name follows, as seen from where cgroups are mounted. */
struct tape_cgroup {
	uint32_t version; /* 1 or 2; 0: it has none with memory, no name follows */
	uint32_t reserved;
};

static_assert(sizeof(struct tape_cgroup) == 8, "format");

/*
 * A part of a look at the NUMA nodes on which the memory is and the threads ran (TAPE_EXT_NODE_USE).
 * The collector writes it where there is more than one node.
 */
enum tape_node_use_flag {
	TAPE_NODE_USE_LAST = 1 << 0 /* the look is complete with this part */
};

/* Lines of text follow, the first of which, "0 0 ...", has sums: docs/tape-format.md. */
struct tape_node_use {
	uint64_t begin_ticks; /* shifted: before the kernel was asked */
	uint32_t part;	      /* from 0 */
	uint32_t flags;	      /* enum tape_node_use_flag */
};

static_assert(sizeof(struct tape_node_use) == 16, "format");

/* --- TAPE_EXT_TOUCHED: a part of a look at which pages were touched since the look before ----- */

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

ARCH_LITTLE_END

#endif
