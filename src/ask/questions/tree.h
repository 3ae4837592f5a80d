/*
 * tree: who called whom, with what it cost; with --function both sides of one function: who called
 * it, and what it called.
 */
#ifndef MEMTAPE_QUESTIONS_TREE_H
#define MEMTAPE_QUESTIONS_TREE_H

#include "answer/about.h"
#include "trees/tree.h"

struct tree_answer {
	const char *metric;
	bool bottom_up;
	const char *function; /* NULL: of all */
	uint64_t bytes, count;
	uint64_t pruned;
	struct shape_rows nodes;	    /* of all */
	struct shape_rows callers, callees; /* of one function */
	struct shape_rows sides;	    /* both, as one table */
	struct about about;
	/* No members. */
	struct tree tree; /* of all, or what the function called */
	struct tree up;	  /* who called the function */
};

#endif
