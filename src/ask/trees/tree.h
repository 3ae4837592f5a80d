/*
 * tree: all stacks as one tree of functions, with sums.
 *
 * Top-down the roots are main and the threads' functions, and a child was called by its parent.
 * Bottom-up the roots are the functions that allocate, and a child called its parent. Equal
 * functions under one parent are one node, whichever lines they were called from.
 *
 * With a focus the roots are that function (or several of that name), and the tree covers the
 * allocations inside it: top-down its callees, bottom-up its callers.
 */
#ifndef MEMTAPE_TREES_TREE_H
#define MEMTAPE_TREES_TREE_H

#include "sums/sums.h"
#include "sums/walk.h"
#include "trees/focus.h"

enum tree_direction { TREE_TOP_DOWN, TREE_BOTTOM_UP };

struct tree_settings {
	enum tree_direction direction;
	enum walk_mode mode;
	const struct walk_hidden *hidden; /* NULL: nothing beyond the mode */
	enum metric metric;		  /* sort and pruning order of siblings, largest first */
	uint64_t value_min;		  /* smaller subtrees are pruned; 0: only empty ones */
	uint32_t share_min;	   /* also those below one in share_min of the root; 0: none */
	uint32_t depth_max;	   /* 0: unlimited */
	const struct focus *focus; /* NULL: everything */
	/*
	 * Path of functions (name_hash) from the root or focus: only these nodes are built, and the
	 * last one's subtree; share_min refers to the last one. If the tree has no such path, it
	 * ends at the last node found.
	 */
	const uint64_t *path;
	size_t path_count;
	/* A recursive call is the same node: no function occurs twice on a path. */
	bool merges_recursion;
};

enum { TREE_ROOT = 0, TREE_NONE = UINT32_MAX };

struct tree_node {
	uint32_t parent;       /* less than the node's index; TREE_NONE for the root */
	uint32_t first_child;  /* TREE_NONE: none */
	uint32_t next_sibling; /* TREE_NONE: none */
	uint32_t depth;	       /* root 0 */
	uint32_t name;	       /* not valid for the root */
	uint32_t line;	       /* 0: not known, or several */
	const char *file;      /* NULL: not known, or several */
	struct model_stack_sums total;
	struct model_stack_sums self; /* its own (top-down); part of total */
	uint32_t pruned_count;	      /* pruned subtrees below it: too small or too deep */
};

struct tree {
	struct tree_node *nodes; /* 0 is the root, everything */
	size_t count;
	uint64_t pruned_count; /* subtrees pruned as too small or too deep */
	uint64_t value_min;    /* smaller subtrees were pruned */
	uint32_t path_end;     /* last node of the path, or of the part that was found */
	enum metric metric;
};

/*
 * The next node in pre-order (siblings by size), with or without this one's children. TREE_NONE:
 * none.
 */
uint32_t tree_next(const struct tree *tree, uint32_t node, bool into);

/*
 * Lives in the arena. To build several trees of the same sums, call sums_total_up first.
 */
struct err *tree_build(const struct sums *sums, struct names *names,
		       const struct tree_settings *settings, struct arena *arena,
		       struct tree *tree_ret);

#endif
