/*
 * handover: descriptors of ours for a process that cannot open the files by name, because it has
 * another root or other namespaces. It makes a pair of sockets, of which we take one end; no name,
 * number of a process or file system has to mean the same on both sides.
 */
#ifndef MEMTAPE_COLLECT_HANDOVER_H
#define MEMTAPE_COLLECT_HANDOVER_H

#include "scan/inject.h"

enum { HANDOVER_MAX = 2 };

struct handover {
	struct stop *stop;
	struct stop_thread *thread; /* held; it makes the system calls */
	const struct maps *maps;
	uint64_t memory; /* of the process: a page that may be overwritten */
	int theirs[HANDOVER_MAX];
	size_t count;
};

/* theirs are copies of ours, closed by exec. An error: the process has none of them. */
struct err *handover_give(struct handover *handover, const int *ours, size_t count);

/* Closes theirs. */
void handover_end(struct handover *handover);

#endif
