/*
 * nodes: on which NUMA nodes the memory of a process is, and on which its threads run, as text for the
 * tape. Only where the machine has more than one. Internal to collect.
 *
 * Reading numa_maps walks all page tables, as smaps does: it is done seldom, for half a percent of the
 * time of one processor at most. Processor time is that of the threads that are met, each for the node
 * where it was met: an estimate.
 */
#ifndef MEMTAPE_COLLECT_NODES_H
#define MEMTAPE_COLLECT_NODES_H

#include "collect/space.h"

enum { NODES_MAX = 64, NODES_CPUS_MAX = 8192 };

struct nodes_thread {
	pid_t tid;
	uint64_t ticks; /* of processor time, when it was met last */
};

VEC_DEFINE(nodes_threads, struct nodes_thread);

struct nodes {
	const char *root; /* "" or the folder that has proc and sys */
	pid_t pid;
	uint64_t set;			     /* of nodes, 1 << number; 0: they do not matter here */
	uint8_t node_of_cpu[NODES_CPUS_MAX]; /* UINT8_MAX: not known */
	struct nodes_threads threads;	     /* of the last look */
	bool has_threads;		     /* there was one */
	uint64_t ticks[NODES_MAX];	     /* of processor time so far */
	uint64_t kib[NODES_MAX];	     /* of memory, at the last look */
	uint64_t due_ns;		     /* of the next look, monotonic */
};

/* root outlives it. Undone by nodes_close. */
void nodes_open(struct nodes *nodes, const char *root, pid_t pid);
void nodes_close(struct nodes *nodes);

/* Whether there is something to look at, and it is time. */
bool nodes_are_due(const struct nodes *nodes, uint64_t now_ns);

/*
 * Looks, and writes what it sees as parts. space: a snapshot of the same mappings, which says where
 * they end.
 */
void nodes_look(struct nodes *nodes, const struct space_snapshot *space, uint64_t now_ns,
		void (*part)(void *context, uint32_t part, uint32_t flags, const char *text),
		void *context);

/* A line of numa_maps: memory by node, in KiB. */
struct nodes_line {
	uint64_t begin;
	uint64_t kib[NODES_MAX];
	bool is_file; /* pages of a file, which are where whoever read it first wanted them */
};

/* False: it is malformed. Nodes from NODES_MAX on are left out. */
bool nodes_line_parse(const char *text, struct nodes_line *line_ret);

/* "0-3,8": calls visit for each number, in order as they stand there. False: it is malformed. */
bool nodes_list_parse(const char *text, void (*visit)(void *context, unsigned number),
		      void *context);

#endif
