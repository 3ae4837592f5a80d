#include "sums/holding.h"

#include <assert.h>

enum { UNSEEN = UINT32_MAX - 1, ON_THE_WAY = UINT32_MAX - 2 };

/* Follows the chain to a block whose beginning is known, or to its end; *count_ret: the steps. */
static uint32_t chain_walk(const struct model_scan *scan, enum holding_link link, uint32_t *roots,
			   uint32_t block, uint32_t *count_ret)
{
	uint32_t at = block, count = 0;

	while (at < scan->block_count && roots[at] == UNSEEN) {
		const uint32_t next = holding_next(&scan->blocks[at], link);

		roots[at] = ON_THE_WAY;
		count++;
		if (next == MODEL_NODE_NONE) {
			*count_ret = count;
			return at;
		}
		at = next;
	}
	*count_ret = count;
	if (at >= scan->block_count)
		return at;
	return roots[at] == ON_THE_WAY ? MODEL_NODE_NONE : roots[at];
}

struct err *holding_roots(const struct model_scan *scan, enum holding_link link,
			  struct arena *arena, const uint32_t **roots_ret,
			  const uint32_t **depths_ret)
{
	uint32_t *roots = arena_array(arena, scan->block_count + 1, sizeof(*roots));
	uint32_t *depths = arena_array(arena, scan->block_count + 1, sizeof(*depths));

	if (!roots || !depths)
		return err_nomem();
	for (uint64_t i = 0; i < scan->block_count; i++)
		roots[i] = UNSEEN;
	for (uint32_t i = 0; i < scan->block_count; i++) {
		uint32_t count, root, at = i, before = 0;

		if (roots[i] != UNSEEN)
			continue;
		root = chain_walk(scan, link, roots, i, &count);
		for (uint32_t step = 0; step < count; step++)
			at = step + 1 < count ? holding_next(&scan->blocks[at], link) : at;
		at = holding_next(&scan->blocks[at], link);
		if (at < scan->block_count && root != MODEL_NODE_NONE)
			before = depths[at] + 1;
		else if (at != MODEL_NODE_NONE)
			before = 1; /* the holder */
		at = i;
		for (uint32_t step = 0; step < count; step++) {
			roots[at] = root;
			depths[at] = before + count - 1 - step;
			at = holding_next(&scan->blocks[at], link);
		}
	}
	*roots_ret = roots;
	if (depths_ret)
		*depths_ret = depths;
	return NULL;
}

/* --- what sites keep alive -------------------------------------------------------------------- */

/* The dominator tree, top down: children of a node are a list through `next`. */
struct tree {
	uint32_t *first; /* by block; after them, what no block dominates */
	uint32_t *next;
	uint32_t *inside; /* by site: how many of its blocks are above */
};

static bool tree_make(const struct model_scan *scan, size_t group_count, struct tree *tree)
{
	const size_t count = scan->block_count;

	tree->first = malloc((count + 1) * sizeof(*tree->first));
	tree->next = malloc((count + 1) * sizeof(*tree->next));
	tree->inside = calloc(group_count + 1, sizeof(*tree->inside));
	if (!tree->first || !tree->next || !tree->inside)
		return false;
	for (size_t i = 0; i <= count; i++)
		tree->first[i] = UINT32_MAX;
	for (size_t i = count; i-- > 0;) {
		const uint32_t dominator = scan->blocks[i].dominator;
		const size_t above = dominator < count ? dominator : count;

		tree->next[i] = tree->first[above];
		tree->first[above] = (uint32_t)i;
	}
	return true;
}

static void tree_free(struct tree *tree)
{
	free(tree->first);
	free(tree->next);
	free(tree->inside);
}

/* Down to children, then to the next sibling, and up by the dominator: needs no stack. */
static void tree_walk(const struct model_scan *scan, const uint32_t *groups,
		      const struct tree *tree, uint64_t *retained, uint8_t *counted)
{
	const uint32_t count = (uint32_t)scan->block_count;
	uint32_t at = tree->first[count];
	bool is_down = true;

	while (at != UINT32_MAX && at < count) {
		const uint32_t group = groups[at];

		if (is_down) {
			if (group != UINT32_MAX && tree->inside[group]++ == 0) {
				retained[group] += scan->blocks[at].retained_bytes;
				if (counted)
					counted[at] = 1;
			}
			if (tree->first[at] != UINT32_MAX) {
				at = tree->first[at];
				continue;
			}
		}
		if (group != UINT32_MAX)
			tree->inside[group]--;
		is_down = tree->next[at] != UINT32_MAX;
		at = is_down ? tree->next[at] : scan->blocks[at].dominator;
	}
}

bool holding_retained(const struct model_scan *scan, const uint32_t *groups, size_t group_count,
		      uint64_t *retained, uint8_t *counted)
{
	struct tree tree = { 0 };
	const bool ok = tree_make(scan, group_count, &tree);

	assert(scan->block_count <= INT32_MAX);
	memset(retained, 0, group_count * sizeof(*retained));
	if (counted)
		memset(counted, 0, scan->block_count);
	if (ok)
		tree_walk(scan, groups, &tree, retained, counted);
	tree_free(&tree);
	return ok;
}
