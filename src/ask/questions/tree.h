/*
 * tree: the call tree with costs; with --function both sides of one function: its callers and
 * callees.
 */
#ifndef MEMTAPE_QUESTIONS_TREE_H
#define MEMTAPE_QUESTIONS_TREE_H

#include "answer/about.h"
#include "trees/tree.h"

struct tree_answer {
	const char *metric; /* metric_words_all */
	bool bottom_up;
	const char *function; /* NULL: of all functions */
	uint64_t bytes, count;
	uint64_t pruned;
	struct shape_rows nodes;	    /* of all */
	struct shape_rows callers, callees; /* of one function */
	struct shape_rows sides;	    /* both, as one table */
	struct about about;
	/* Not members. */
	struct tree tree; /* of all functions, or what the function called */
	struct tree up;	  /* callers of the function */
	uint64_t whole;	  /* of the metric, of everything that is selected */
};

#endif
