/*
 * usage: what the kernel says about a process's memory, from /proc and its cgroup, at a price that
 * is watched: PSS and swap, and which mappings are resident, are read seldom and cost no more than
 * half a percent of time, but for 20 ms altogether and a few more looks when RSS climbs higher than
 * it ever was.
 */
#ifndef MEMTAPE_COLLECT_USAGE_H
#define MEMTAPE_COLLECT_USAGE_H

#include <sys/types.h>

#include "collect/space.h"

enum usage_file { USAGE_STATM, USAGE_STAT, USAGE_CGROUP, USAGE_CGROUP_LIMIT, USAGE_FILE_COUNT };

struct usage {
	int files[USAGE_FILE_COUNT]; /* kept open and read again; -1: not to be had */
	pid_t pid;
	uint64_t page_bytes;
	struct space space;	  /* the newest snapshot until it is written */
	bool has_snapshot;	  /* it was taken with the last sample */
	uint64_t begun_ns;	  /* of the first sample; monotonic, as all of these */
	uint64_t full_next_ns;	  /* a SPACE_FULL snapshot, with PSS and swap, not before that */
	uint64_t quick_next_ns;	  /* a SPACE_QUICK one */
	uint64_t quick_urgent_ns; /* not before that, whatever RSS does */
	uint64_t quick_spent_ns;  /* processor time so far */
	uint64_t space_rss_bytes; /* highest at any snapshot */
	struct tape_usage last;
};

#define USAGE_UNKNOWN UINT64_MAX

/* Files that do not open are numbers not known. Undone by usage_close. */
void usage_open(struct usage *usage, pid_t pid);
void usage_close(struct usage *usage);

/*
 * Reads again; now_ns is CLOCK_MONOTONIC. True: something differs from the sample before. The
 * numbers are in usage->last, those not known USAGE_UNKNOWN.
 */
bool usage_sample(struct usage *usage, uint64_t now_ns);

#endif
