/*
 * memory_limits: automatic snapshots, when memory reaches a limit: which mappings are resident then, and a
 * mark that says why. Each limit does so once, and again after memory has been a tenth below it.
 */
#ifndef MEMTAPE_COLLECT_MEMORY_LIMITS_H
#define MEMTAPE_COLLECT_MEMORY_LIMITS_H

#include "base/err.h"
#include "base/options.h"

/* What can have a limit. */
enum limit_kind {
	LIMIT_RSS,	 /* resident bytes of the program */
	LIMIT_HEAP,	 /* those of them that are of no file: its heap, stacks and the like */
	LIMIT_CGROUP,	 /* percent of its cgroup's limit that the cgroup uses */
	LIMIT_AVAILABLE, /* bytes that the machine has left; reached from above */
	LIMIT_COUNT
};

struct limits {
	uint64_t value[LIMIT_COUNT]; /* 0: there is none */
};

/* "rss=1g", "cgroup=90%", "available=500m", each at most once. ERR_USAGE names what is wrong. */
struct err *limits_parse(const struct option_list *texts, struct limits *limits);

bool limits_are_set(const struct limits *limits);

struct collector;

/* After a sample: makes the snapshots that are due. */
void limits_look(struct collector *collector);

#endif
