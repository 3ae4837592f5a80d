/*
 * kernel_log: what the kernel log says of processes that were killed because memory ran out. The text
 * has a record a line, as /dev/kmsg has them: "PRIORITY,NUMBER,MICROSECONDS,FLAGS;MESSAGE".
 */
#ifndef MEMTAPE_SYSTEM_KERNEL_LOG_H
#define MEMTAPE_SYSTEM_KERNEL_LOG_H

#include "system/looks.h"

/* A process that the kernel killed. Texts are in the arena; what is not known is SYSTEM_UNKNOWN. */
struct oom_kill {
	uint64_t uptime_ns; /* when, since the machine was started */
	uint64_t pid;
	const char *name;   /* NULL: not known */
	const char *cgroup; /* whose limit it was; NULL: the machine had no memory left */
	bool is_cgroup;	    /* true with cgroup NULL: which one is not known */
	uint64_t address_space, rss_anonymous, rss_file, rss_shared; /* bytes */
};

VEC_DEFINE(oom_kills, struct oom_kill);

/* Whether the record is about a lack of memory: others need not be kept. */
bool kernel_log_is_wanted(const char *record);

/* In the order of the log. text may be NULL: none. */
struct err *kernel_log_read(const char *text, struct arena *arena, struct oom_kills *kills);

#endif
