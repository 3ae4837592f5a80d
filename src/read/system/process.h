/*
 * process: a process as /proc/PID/status, stat, limits and smaps_rollup say it. Texts may be NULL
 * (not read) and may be anything. What a text does not say is SYSTEM_UNKNOWN.
 */
#ifndef MEMTAPE_SYSTEM_PROCESS_H
#define MEMTAPE_SYSTEM_PROCESS_H

#include "system/looks.h"

struct process_info {
	const char *name; /* in the arena; NULL: not known */
	bool is_dead;	  /* it has ended, and waits for its parent */
	uint64_t uid, threads;
	uint64_t rss, rss_anonymous, rss_file, rss_shared, rss_peak; /* bytes */
	uint64_t swapped, address_space, data, page_tables;	     /* bytes */
};

/* False: out of memory. */
bool process_info_read(const char *status, struct arena *arena, struct process_info *info);

/*
 * Of a status: it has memory. A thread of the kernel has none, nor has a process that is ending or waits
 * for its parent. False if it was not read.
 */
bool process_has_memory(const char *status);

struct process_counts {
	uint64_t minor_faults, major_faults; /* since it was started */
	uint64_t start_ticks;		     /* tells two processes of one number apart */
	uint64_t rss_pages;
};

void process_counts_read(const char *stat, struct process_counts *counts);

/* Bytes; UINT64_MAX: unlimited, or not known. name as in the file: "Max address space". */
uint64_t process_limit(const char *limits, const char *name);

/* Proportional set size, in bytes. */
uint64_t process_pss(const char *smaps_rollup);

/* Bytes; UINT64_MAX: not known. private: of its RSS what nobody else has mapped. */
struct process_shares {
	uint64_t rss, pss, private;
};
struct process_shares process_shares(const char *smaps_rollup);

/* A number that may be negative, such as oom_score_adj; INT64_MIN: not known. */
int64_t process_signed(const char *text);

/* True and the number: path is /proc/NUMBER/status. */
bool process_of_path(const char *path, uint64_t *pid_ret);

#endif
