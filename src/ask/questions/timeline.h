/*
 * timeline: live and resident bytes over time, in equal spans; usage: the memory of the process, of its
 * cgroup and of the machine; now: how a program is off at the end of its tape, which for a tape that is
 * being written is at present.
 */
#ifndef MEMTAPE_QUESTIONS_TIMELINE_H
#define MEMTAPE_QUESTIONS_TIMELINE_H

#include "answer/about.h"
#include "answer/frame.h"

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

/* A NUMA node, where there are several. */
struct usage_node {
	uint64_t node;
	uint64_t bytes, bytes_max; /* of memory: at the last look, at most */
	uint64_t cpu_ns;	   /* of processor time in the range */
};

/* A process of a session in a span. */
struct usage_part {
	uint64_t ns;
	uint64_t process; /* its row in the answer of processes */
	uint64_t pid;
	const char *name;
	uint64_t rss, pss, private;
};

struct usage_answer {
	const char *level;	     /* NULL: the tape has no samples of the system */
	const char *cgroup;	     /* the last one; NULL: not known */
	struct shape_rows verdicts;  /* struct usage_verdict */
	struct shape_rows usage;     /* struct usage_step */
	struct shape_rows nodes;     /* struct usage_node */
	struct shape_rows processes; /* struct usage_part, by time */
	struct quality quality;
};

extern const struct shape shape_timeline_step;

/*
 * At most count (> 0) steps from from_ns until until_ns, both inclusive and in order: rows of struct
 * timeline_step. Needs MODEL_FULL.
 */
struct err *timeline_steps(const struct asked *asked, uint64_t from_ns, uint64_t until_ns,
			   uint64_t count, struct shape_rows *rows);

/* --- now ---------------------------------------------------------------------------------------- */

enum now_order { NOW_BY_LIVE, NOW_BY_GROWTH, NOW_BY_CHURN, NOW_BY_ALLOCATED, NOW_BY_BLOCKS };

extern const char *const now_orders[]; /* by enum now_order; NULL at the end */

/* Of a window of time. */
struct now_rates {
	uint64_t live_bytes, live_count; /* at its end */
	int64_t growth_bytes;		 /* live_bytes, less those at its beginning */
	double growth_rate;		 /* the same per second */
	uint64_t allocated_bytes, allocated_count, freed_count;
	double allocated_bytes_rate, allocated_rate, freed_rate; /* per second */
	uint64_t temporary_count;
};

struct now_site {
	struct place place;
	struct now_rates rates;
	uint64_t stacks;
	struct shape_rows callers; /* struct frame, from the function outwards */
	uint32_t stack;		   /* the one with most live bytes */
};

struct now_answer {
	const char *program;
	uint64_t pid;
	const char *end; /* NULL: no end is on the tape */
	uint64_t duration_ns, from_ns;
	uint64_t rss_bytes;
	struct now_rates total;
	uint64_t peak_bytes, peak_ns;
	struct shape_rows timeline; /* struct timeline_step */
	const char *sort;
	struct shape_rows sites; /* struct now_site */
	struct quality quality;
	/* Not members: */
	uint64_t site_count; /* without --top */
	enum now_order order;
};

extern const struct shape shape_now;

#endif
