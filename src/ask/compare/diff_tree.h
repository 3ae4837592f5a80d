/*
 * diff_tree: all stacks of two sums as one tree of functions, with what each side has at every
 * node.
 *
 * What belongs together is matched by name, as in diff.h. A node is there when one of the sides has
 * something there; what vanished is as good a node as what is new. At every node and on both sides
 * the values of the children and what the node has by itself add up to its own.
 *
 * The tree can be drawn because a stack is as wide as it is on the side where it is larger, and a
 * node as all of its stacks: what grew does not hide what vanished.
 */
#ifndef MEMTAPE_COMPARE_DIFF_TREE_H
#define MEMTAPE_COMPARE_DIFF_TREE_H

#include "compare/diff.h"

enum { DIFF_ROOT = 0, DIFF_NONE = UINT32_MAX };

struct diff_node {
	uint32_t parent;	     /* less than the node's own number; DIFF_NONE of the root */
	uint32_t first_child;	     /* the widest; DIFF_NONE: a leaf */
	uint32_t next_sibling;	     /* not wider; DIFF_NONE: the last */
	uint32_t depth;		     /* root 0 */
	uint32_t names[DIFF_SIDES];  /* DIFF_NONE: not on this side; of the root: not to be used */
	uint32_t line;		     /* where it is in B, or in A alone; 0: not known, or several */
	const char *file;	     /* NULL: not known, or several */
	uint64_t totals[DIFF_SIDES]; /* of the metric, not divided */
	uint64_t selfs[DIFF_SIDES];  /* part of it: what no child has */
	uint64_t calls[DIFF_SIDES];  /* allocations behind the totals */
	double width;		     /* for one unit of work */
};

struct diff_tree {
	const struct diff_side *sides; /* DIFF_SIDES of them, the caller's */
	enum metric metric;
	struct diff_node *nodes; /* 0 is the root, everything */
	size_t count;
};

/* Lives in the arena. */
struct err *diff_tree_build(const struct diff_side *sides, enum walk_mode mode, enum metric metric,
			    struct arena *arena, struct diff_tree *tree_ret);

/* The name of a node below the root: B's, where B has it; and its hash (name_hash). */
const struct name *diff_tree_name(const struct diff_tree *tree, uint32_t node);
uint64_t diff_tree_hash(const struct diff_tree *tree, uint32_t node);

/* A total or what a node has by itself, of a side, for one unit of work. */
double diff_tree_value(const struct diff_tree *tree, unsigned side, uint64_t value);

enum diff_status diff_tree_status(const struct diff_tree *tree, uint32_t node);

/* The node that follows in pre-order, with or without going into this one's children; DIFF_NONE. */
uint32_t diff_tree_next(const struct diff_tree *tree, uint32_t node, bool into);

/* As far as there is such a way of hashes from the root: its last node. */
uint32_t diff_tree_find(const struct diff_tree *tree, const uint64_t *path, size_t path_count);

#endif
