/*
 * data_tree: the stacks of a selection as a tree of functions with sums and times, for the two
 * forms in which memory-profiler shows it. Internal to http.
 */
#ifndef MEMTAPE_HTTP_BYTEHOUND_DATA_TREE_H
#define MEMTAPE_HTTP_BYTEHOUND_DATA_TREE_H

#include "http/call.h"

struct data_node {
	uint32_t parent;		/* number of a node before it */
	uint32_t first_child;		/* UINT32_MAX: none; children by size, largest first */
	uint32_t next_sibling;		/* UINT32_MAX: none */
	uint32_t depth;			/* root 0 */
	uint32_t stack;			/* a stack whose innermost address has the frame */
	const struct name_frame *frame; /* NULL: the root */
	uint64_t bytes;
	uint64_t count;
	uint64_t first_ns;
	uint64_t last_ns;
};

struct data_tree {
	struct data_node *nodes; /* 0 is the root: everything */
	size_t count;
};

/* Lives in the call's arena. */
struct err *data_tree_build(struct call *call, const struct selection *selection,
			    struct names *names, struct data_tree *tree_ret);

#endif
