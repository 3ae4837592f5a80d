/*
 * diff_tree: all stacks of two sums as one tree of functions, with both sides' values at every
 * node.
 *
 * Functions are matched by name, as in diff.h. A node exists if either side has something there;
 * vanished nodes count as much as new ones. At every node and on both sides the values of the
 * children and the node's own value add up to its total.
 *
 * To make the tree drawable, a stack is as wide as on the side where it is larger, and a node is as
 * wide as all its stacks: growth does not hide what vanished.
 */
#ifndef MEMTAPE_COMPARE_DIFF_TREE_H
#define MEMTAPE_COMPARE_DIFF_TREE_H

#include "compare/diff.h"

enum { DIFF_ROOT = 0, DIFF_NONE = UINT32_MAX };

struct diff_node {
	uint32_t parent;	     /* less than the node's index; DIFF_NONE for the root */
	uint32_t first_child;	     /* the widest; DIFF_NONE: a leaf */
	uint32_t next_sibling;	     /* not wider; DIFF_NONE: none */
	uint32_t depth;		     /* root 0 */
	uint32_t names[DIFF_SIDES];  /* DIFF_NONE: not on this side; not valid for the root */
	uint32_t line;		     /* in B, or in A if only there; 0: not known, or several */
	const char *file;	     /* NULL: not known, or several */
	uint64_t totals[DIFF_SIDES]; /* of the metric, not divided by units */
	uint64_t selfs[DIFF_SIDES];  /* part of the total that no child has */
	uint64_t calls[DIFF_SIDES];  /* allocations behind the totals */
	double width;		     /* per unit of work */
};

struct diff_tree {
	const struct diff_side *sides; /* DIFF_SIDES of them, owned by the caller */
	enum metric metric;
	struct diff_node *nodes; /* 0 is the root, everything */
	size_t count;
};

/* Lives in the arena. */
struct err *diff_tree_build(const struct diff_side *sides, enum walk_mode mode, enum metric metric,
			    struct arena *arena, struct diff_tree *tree_ret);

/* The name of a node below the root, B's if it has one; and its hash (name_hash). */
const struct name *diff_tree_name(const struct diff_tree *tree, uint32_t node);
uint64_t diff_tree_hash(const struct diff_tree *tree, uint32_t node);

/* A total or own value of one side, per unit of work. */
double diff_tree_value(const struct diff_tree *tree, unsigned side, uint64_t value);

enum diff_status diff_tree_status(const struct diff_tree *tree, uint32_t node);

/* The next node in pre-order, with or without this one's children; DIFF_NONE: none. */
uint32_t diff_tree_next(const struct diff_tree *tree, uint32_t node, bool into);

/* Follows the path of hashes from the root as far as possible; returns the last node. */
uint32_t diff_tree_find(const struct diff_tree *tree, const uint64_t *path, size_t path_count);

#endif
