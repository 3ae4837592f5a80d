/*
 * processes: those that could be attached to: of the user, and as root of everybody.
 */
#ifndef MEMTAPE_COLLECT_PROCESSES_H
#define MEMTAPE_COLLECT_PROCESSES_H

#include "base/arena.h"
#include "base/vec.h"
#include "collect/attach_check.h"

/* Texts are in the arena given to processes_find. */
struct process {
	pid_t pid;
	const char *name;    /* of its program's file */
	const char *command; /* its arguments in a line, without control characters */
	const char *user;    /* or a number that has no name */
	uint64_t rss_bytes;
	uint64_t start_realtime_ns; /* since 1970 */
	uint64_t age_ns;
	const char *tape; /* where memtape records it; NULL: it does not */
	enum attach_obstacle obstacle;
	const char *refusal; /* the words of attach_check; NULL: it can be attached to */
};

VEC_DEFINE(process_vec, struct process);

/* Appends them, the largest first; without this process, and those of the kernel. */
struct err *processes_find(struct arena *arena, struct process_vec *processes);

#endif
