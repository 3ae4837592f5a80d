/*
 * system_usage: how the machine and the cgroup of a process are off for memory, at a bounded cost: a
 * quarter of a percent of the time of one processor. Internal to collect.
 */
#ifndef MEMTAPE_COLLECT_SYSTEM_USAGE_H
#define MEMTAPE_COLLECT_SYSTEM_USAGE_H

#include <sys/types.h>

#include "host/watch.h"
#include "tape/tape.h"

struct system_usage {
	struct host_watch *watch; /* NULL: nothing is known */
	uint64_t next_ns;	  /* not before that; monotonic */
	bool has_moved;		  /* with the last sample: the cgroup is another one */
	const char *cgroup;	  /* its name, valid until the next sample; "": there is none */
	uint32_t version;	  /* of it: 1 or 2; 0: there is none */
	uint64_t cgroup_hash;	  /* of the name and version; 0: not known yet */
	struct tape_system last;
};

/* Undone by system_usage_close. */
void system_usage_open(struct system_usage *usage, pid_t pid);
void system_usage_close(struct system_usage *usage);

/*
 * Reads again, if it is time; now_ns is CLOCK_MONOTONIC. True: `last` differs from what it was, or
 * has_moved.
 */
bool system_usage_sample(struct system_usage *usage, uint64_t now_ns);

/* Bytes that the machine and the process's cgroup had left at the last sample; UINT64_MAX: unknown. */
uint64_t system_usage_free(const struct system_usage *usage);

#endif
