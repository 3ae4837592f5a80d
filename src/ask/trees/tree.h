/*
 * tree: all stacks as one tree of functions, with sums.
 *
 * Top-down the roots are main and the threads' functions, and a child is what its parent called.
 * Bottom-up the roots are the functions that allocate, and a child is who called its parent.
 * Equal functions under one parent are one node, whatever line they were called from.
 *
 * With a focus the roots are the function it is about (or several of that name), the tree has what
 * was allocated inside of it, and top-down is what it called, bottom-up who called it.
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
	const struct walk_hidden *hidden; /* NULL: nothing more than the mode leaves out */
	enum metric metric;	   /* by which siblings are sorted, the most first, and pruned */
	uint64_t value_min;	   /* smaller subtrees are not built; 0: those with nothing only */
	uint32_t share_min;	   /* nor those with less than one in so many of the root; 0: all */
	uint32_t depth_max;	   /* 0: unlimited */
	const struct focus *focus; /* NULL: everything */
	/*
	 * Of one function below another (name_hash), from the root or the focus on: only these are
	 * built, and what lies below the last; share_min is of that one. Where the tree does not go
	 * that way it ends with the last node that is there.
	 */
	const uint64_t *path;
	size_t path_count;
	/* A function that is called while it runs is the same node: no path has one twice. */
	bool merges_recursion;
};

enum { TREE_ROOT = 0, TREE_NONE = UINT32_MAX };

struct tree_node {
	uint32_t parent;       /* less than the node's own number; TREE_NONE of the root */
	uint32_t first_child;  /* TREE_NONE: a leaf */
	uint32_t next_sibling; /* TREE_NONE: the last */
	uint32_t depth;	       /* root 0 */
	uint32_t name;	       /* of the root: not to be used */
	uint32_t line;	       /* 0: not known, or several */
	const char *file;      /* NULL: not known, or several */
	struct model_stack_sums total;
	struct model_stack_sums self; /* allocated by itself (top-down); part of total */
	uint32_t pruned_count;	      /* subtrees below it that were too small or too deep */
};

struct tree {
	struct tree_node *nodes; /* 0 is the root, everything */
	size_t count;
	uint64_t pruned_count; /* subtrees that were too small or too deep */
	uint64_t value_min;    /* smaller subtrees were pruned */
	uint32_t path_end;     /* the last node of the path: its length, or what there is of it */
	enum metric metric;
};

/*
 * The node that follows in pre-order (children in their order of size), with or without going into
 * this one's children. TREE_NONE: that was the last.
 */
uint32_t tree_next(const struct tree *tree, uint32_t node, bool into);

/*
 * Lives in the arena. Whoever builds several trees of the same sums calls sums_total_up before.
 */
struct err *tree_build(const struct sums *sums, struct names *names,
		       const struct tree_settings *settings, struct arena *arena,
		       struct tree *tree_ret);

#endif
