/*
 * usage: what the kernel says about a process's memory, from /proc and its cgroup, at a price that
 * is watched: the dear numbers (PSS, swap) are read seldom and never cost more than 0.25 % of time.
 */
#ifndef MEMTAPE_COLLECT_USAGE_H
#define MEMTAPE_COLLECT_USAGE_H

#include <sys/types.h>

#include "tape/tape.h"

enum usage_file { USAGE_STATM, USAGE_STAT, USAGE_CGROUP, USAGE_CGROUP_LIMIT, USAGE_FILE_COUNT };

struct usage {
	int files[USAGE_FILE_COUNT]; /* kept open and read again; -1: not to be had */
	pid_t pid;
	uint64_t page_bytes;
	uint64_t rollup_next_ns; /* monotonic */
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
