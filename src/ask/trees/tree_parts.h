/*
 * tree_parts: construction of a tree. Internal to trees; the public interface is tree.h.
 *
 * Both directions work like a radix sort: the items at a node (stacks on their way outwards, or
 * branches of the stack tree on their way inwards) are grouped by the next function, and only large
 * enough groups become nodes and are expanded. So only functions near visible nodes are symbolized,
 * and what is shown is exact.
 */
#ifndef MEMTAPE_TREES_TREE_PARTS_H
#define MEMTAPE_TREES_TREE_PARTS_H

#include "base/sort.h"
#include "base/vec.h"
#include "trees/tree.h"

VEC_DEFINE(tree_nodes, struct tree_node);

struct builder {
	const struct model *model;
	struct names *names;
	const struct tree_settings *settings;
	struct sums sums;   /* with totals */
	uint64_t value_min; /* smaller ones are not built */
	uint32_t path_at;   /* number of path functions found */
	struct tree_nodes nodes;
	uint64_t pruned_count;
};

/* The items of one function below a node. */
struct run {
	uint32_t node; /* the parent, then the node that was made; TREE_NONE: too small, or too deep
			*/
	size_t begin;  /* range of its items */
	size_t end;
};

VEC_DEFINE(runs, struct run);

/* Whether the settings hide this frame of the stack's innermost address. */
bool tree_hides(const struct builder *builder, uint32_t stack, const struct name_frame *frame);

/* A walk with the tree's settings. */
struct walk tree_walk_begin(const struct builder *builder, uint32_t stack);

/* Makes a node for the group; if it is too small, run->node is TREE_NONE. */
struct err *tree_run_place(struct builder *builder, struct run *run, const struct name_frame *frame,
			   const struct model_stack_sums *total);

/* A node reached from several lines has no line. */
void tree_node_place_merge(struct tree_node *node, const struct name_frame *frame);

/* Fill the builder's nodes below the root, which exists. */
struct err *tree_build_top_down(struct builder *builder);
struct err *tree_build_bottom_up(struct builder *builder);
struct err *tree_build_folded(struct builder *builder); /* both directions, without recursion */

#endif
