/*
 * timeline: live and resident bytes over time, in equal spans; usage: the memory of the process, of its
 * cgroup and of the machine.
 */
#ifndef MEMTAPE_QUESTIONS_TIMELINE_H
#define MEMTAPE_QUESTIONS_TIMELINE_H

#include "answer/about.h"

struct timeline_step {
	uint64_t begin_ns;
	uint64_t live_bytes_max, live_bytes_end;
	uint64_t live_count_end;
	uint64_t allocated_count, allocated_bytes, free_count;
	uint64_t rss_bytes;
};

struct timeline_answer {
	struct shape_rows timeline; /* of struct timeline_step */
	struct quality quality;
};

/* --- usage ---------------------------------------------------------------------------------------- */

/* What is not known is SHAPE_NONE or NAN. Growth is since the last step that knows the count. */
struct usage_step {
	uint64_t ns;
	uint64_t rss, pss, swapped, address_space, shared; /* of the process, at most */
	uint64_t minor_faults, major_faults;		   /* growth */
	uint64_t memory, available, used; /* of the machine, at the least available */
	uint64_t swap, swap_used;
	uint64_t swapped_in, swapped_out, system_major_faults, oom_kills; /* growth */
	double some_avg10, full_avg10;					  /* percent, at most */
	uint64_t some_ns, full_ns;					  /* growth */
	uint64_t cgroup, cgroup_working_set, cgroup_limit, cgroup_high;	  /* at most */
	uint64_t cgroup_limit_hits, cgroup_high_hits, cgroup_ooms, cgroup_oom_kills; /* growth */
	double cgroup_some_avg10, cgroup_full_avg10;
	uint64_t cgroup_some_ns, cgroup_full_ns;
};

struct usage_verdict {
	const char *name, *level, *answer;
	uint64_t time_ns, short_ns;
	bool matters;
};

struct usage_answer {
	const char *level;	    /* NULL: the tape has no samples of the system */
	const char *cgroup;	    /* the last one; NULL: not known */
	struct shape_rows verdicts; /* struct usage_verdict */
	struct shape_rows usage;    /* struct usage_step */
	struct quality quality;
};

#endif
