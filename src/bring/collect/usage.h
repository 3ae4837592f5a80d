/*
 * usage: a process's memory usage as reported by the kernel, from /proc, at a bounded cost: PSS and swap, and which mappings are resident, are read rarely and cost at most
 * half a percent of the time, plus 8 ms in total and a few more readings when RSS exceeds its
 * previous maximum.
 */
#ifndef MEMTAPE_COLLECT_USAGE_H
#define MEMTAPE_COLLECT_USAGE_H

#include <sys/types.h>

#include "collect/space.h"

enum usage_file { USAGE_STATM, USAGE_STAT, USAGE_FILE_COUNT };

struct usage {
	int files[USAGE_FILE_COUNT]; /* kept open and reread; -1: unavailable */
	pid_t pid;
	uint64_t page_bytes;
	struct space space;	  /* the newest snapshot until it is written */
	bool has_snapshot;	  /* taken with the last sample */
	bool is_full;		  /* and it is a SPACE_FULL one */
	uint64_t begun_ns;	  /* time of the first sample; monotonic, as all of these */
	uint64_t full_next_ns;	  /* no SPACE_FULL snapshot, with PSS and swap, before that */
	uint64_t quick_next_ns;	  /* no SPACE_QUICK one before that */
	uint64_t quick_urgent_ns; /* nor before that, whatever RSS does */
	uint64_t quick_spent_ns;  /* processor time so far */
	uint64_t space_rss_bytes; /* highest at any snapshot */
	struct tape_usage last;
};

#define USAGE_UNKNOWN UINT64_MAX

/* Values of files that cannot be opened are unknown. Undone by usage_close. */
void usage_open(struct usage *usage, pid_t pid);
void usage_close(struct usage *usage);

/*
 * Reads again; now_ns is CLOCK_MONOTONIC. True: something differs from the previous sample. The
 * values are in usage->last, unknown ones are USAGE_UNKNOWN. Those of the cgroup are system's.
 */
bool usage_sample(struct usage *usage, uint64_t now_ns, const struct tape_system *system);

#endif
