/*
 * Most blocks are held by one pointer: what holds it dominates it, and so on up. Only where pointers
 * meet there is something to find out. So the graph is thinned: kept are nodes to which more than
 * one pointer leads, those that such pointers come from, and those where the ways to these part; a
 * chain between two of them is one edge. No node that is left out can be the last one on all ways to
 * a node where pointers meet, for the next one of its chain is on them, too. What no pointers meet
 * in or below, the leaves and branches of trees, is not looked at at all.
 *
 * A root above all holds the holders and the blocks that were lost by themselves.
 */
#include "scan/dominators.h"

#include <assert.h>

#include "base/big.h"
#include "scan/flow.h"

enum { AHEAD = 24 }; /* how many are fetched before they are needed */

enum role {
	ROLE_LOST = 1,
	ROLE_HELD = 1 << 1,   /* a pointer leads to it, or the root holds it */
	ROLE_MET = 1 << 2,    /* more than one */
	ROLE_NEEDED = 1 << 3, /* it, or something that it alone holds, is kept */
	ROLE_KEPT = 1 << 4
};

struct dominators {
	const struct pointers *pointers;
	struct scan_image_block *blocks;
	uint8_t *roles; /* by node: set of enum role */
	/* By node: of one that is kept, its vertex; of one that is needed, the kept node below. */
	uint32_t *below;
	struct flow flow;
	uint32_t *found;      /* by vertex: the vertex that dominates it */
	struct vec_u32 nodes; /* by vertex; the root's is NONE */
};

static void dominators_deinit(struct dominators *dominators)
{
	free(dominators->roles);
	free(dominators->below);
	flow_edges_deinit(&dominators->flow.edges);
	free(dominators->found);
	vec_u32_deinit(&dominators->nodes);
}
CLEAN_DEFINE_DEINIT(dominators_deinit, struct dominators);

/* What the root holds, and what is lost. */
static void roles_begin(struct dominators *dominators)
{
	const struct pointers *pointers = dominators->pointers;

	for (uint32_t node = 0; node < pointers->block_count; node++) {
		const uint8_t class = dominators->blocks[node].class;

		if (class == TAPE_SCAN_DEFINITE)
			dominators->roles[node] = ROLE_LOST | ROLE_HELD;
		else if (class == TAPE_SCAN_INDIRECT)
			dominators->roles[node] = ROLE_LOST;
	}
	for (uint32_t node = pointers->block_count; node < pointers->row_count; node++)
		dominators->roles[node] = ROLE_HELD;
}

/* Calls visit for every pointer that counts: not those from what is lost to what is alive. */
static inline __attribute__((always_inline)) bool
pointers_each(struct dominators *dominators,
	      bool (*visit)(struct dominators *dominators, uint32_t from, uint32_t to))
{
	const struct pointers *pointers = dominators->pointers;

	for (uint32_t node = 0; node < pointers->row_count; node++) {
		const bool is_lost = dominators->roles[node] & ROLE_LOST;

		for (uint64_t at = pointers->row_begins[node]; at < pointers->row_begins[node + 1];
		     at++) {
			const uint32_t to = pointer_block(pointers->items[at]);

			if (at + AHEAD < pointers->item_count) {
				const uint32_t soon = pointer_block(pointers->items[at + AHEAD]);

				if (soon != POINTER_GAP)
					__builtin_prefetch(&dominators->roles[soon], 1);
			}
			if (to == POINTER_GAP || (is_lost && !(dominators->roles[to] & ROLE_LOST)))
				continue;
			if (!visit(dominators, node, to))
				return false;
		}
	}
	return true;
}

static bool see_pointer(struct dominators *dominators, uint32_t from, uint32_t to)
{
	(void)from;
	dominators->roles[to] |=
		dominators->roles[to] & ROLE_HELD ? ROLE_MET | ROLE_KEPT : ROLE_HELD;
	return true;
}

static bool edge_add(struct dominators *dominators, uint32_t from, uint32_t to)
{
	return flow_edges_push(&dominators->flow.edges, (struct flow_edge) { from, to });
}

static bool see_meeting(struct dominators *dominators, uint32_t from, uint32_t to)
{
	if (!(dominators->roles[to] & ROLE_MET))
		return true;
	dominators->roles[from] |= ROLE_KEPT;
	return edge_add(dominators, from, to);
}

/* Of a node that is needed and held by one pointer. False: out of memory. */
static bool hang(struct dominators *dominators, uint32_t node, uint32_t by)
{
	const uint32_t kept = dominators->roles[node] & ROLE_KEPT ? node : dominators->below[node];
	uint8_t *role;

	if (by == SCAN_NODE_NONE)
		return edge_add(dominators, by, kept);
	role = &dominators->roles[by];
	if (!(*role & (ROLE_KEPT | ROLE_NEEDED))) {
		*role |= ROLE_NEEDED;
		dominators->below[by] = kept;
		return true;
	}
	if (!(*role & ROLE_KEPT)) {
		*role |= ROLE_KEPT;
		if (!edge_add(dominators, by, dominators->below[by]))
			return false;
	}
	return edge_add(dominators, by, kept);
}

/* All edges of the thinned graph, their ends by node. */
static bool edges_find(struct dominators *dominators, const uint32_t *order)
{
	const struct pointers *pointers = dominators->pointers;
	const uint8_t *roles = dominators->roles;

	if (!pointers_each(dominators, see_pointer) || !pointers_each(dominators, see_meeting))
		return false;
	for (uint32_t i = 0; i < pointers->block_count; i++) {
		const struct scan_image_block *block = &dominators->blocks[order[i]];

		if (i + AHEAD < pointers->block_count)
			__builtin_prefetch(&dominators->blocks[order[i + AHEAD]]);
		if (!(roles[order[i]] & (ROLE_KEPT | ROLE_NEEDED)))
			continue;
		if (!(roles[order[i]] & ROLE_MET)) {
			if (!hang(dominators, order[i], block->parent))
				return false;
		} else if (block->class == TAPE_SCAN_DEFINITE &&
			   !edge_add(dominators, SCAN_NODE_NONE, order[i])) {
			return false;
		}
	}
	for (uint32_t node = pointers->block_count; node < pointers->row_count; node++)
		if ((roles[node] & (ROLE_KEPT | ROLE_NEEDED)) &&
		    !hang(dominators, node, SCAN_NODE_NONE))
			return false;
	return true;
}

/* Vertices instead of nodes. */
static bool vertices_number(struct dominators *dominators)
{
	struct flow_edges *edges = &dominators->flow.edges;

	if (!vec_u32_push(&dominators->nodes, SCAN_NODE_NONE))
		return false;
	for (uint32_t node = 0; node < dominators->pointers->row_count; node++) {
		if (!(dominators->roles[node] & ROLE_KEPT))
			continue;
		dominators->below[node] = (uint32_t)dominators->nodes.count;
		if (!vec_u32_push(&dominators->nodes, node))
			return false;
	}
	dominators->flow.vertex_count = (uint32_t)dominators->nodes.count;
	for (size_t i = 0; i < edges->count; i++) {
		struct flow_edge *edge = &edges->items[i];

		if (i + AHEAD < edges->count) {
			if (edge[AHEAD].from != SCAN_NODE_NONE)
				__builtin_prefetch(&dominators->below[edge[AHEAD].from]);
			__builtin_prefetch(&dominators->below[edge[AHEAD].to]);
		}
		edge->from = edge->from == SCAN_NODE_NONE ? 0 : dominators->below[edge->from];
		edge->to = dominators->below[edge->to];
	}
	return true;
}

static struct err *find(struct dominators *dominators, const uint32_t *order)
{
	const size_t node_count = dominators->pointers->row_count;
	struct err *err;

	dominators->roles = big_calloc(node_count + 1, sizeof(*dominators->roles));
	dominators->below = big_calloc(node_count + 1, sizeof(*dominators->below));
	if (!dominators->roles || !dominators->below)
		return err_nomem();
	roles_begin(dominators);
	if (!edges_find(dominators, order) || !vertices_number(dominators))
		return err_nomem();
	dominators->found = malloc(dominators->flow.vertex_count * sizeof(*dominators->found));
	if (!dominators->found)
		return err_nomem();
	err = flow_dominators(&dominators->flow, dominators->found);
	if (err)
		return err;
	for (uint32_t node = 0; node < dominators->pointers->block_count; node++) {
		struct scan_image_block *block = &dominators->blocks[node];

		assert(dominators->roles[node] & ROLE_HELD);
		block->dominator =
			dominators->roles[node] & ROLE_MET
				? dominators->nodes
					  .items[dominators->found[dominators->below[node]]]
				: block->parent;
		block->retained_bytes = block->size_bytes;
	}
	return NULL;
}

/* What a node dominates comes before it: sums are whole when they are passed on. */
static void retain(const struct pointers *pointers, struct scan_image_block *blocks,
		   struct scan_image_holder *holders, const uint32_t *order)
{
	const uint32_t block_count = pointers->block_count;

	for (uint32_t i = 0; i < block_count; i++) {
		const struct scan_image_block *block = &blocks[order[i]];
		const uint32_t by = block->dominator;

		if (i + 2 * AHEAD < block_count)
			__builtin_prefetch(&blocks[order[i + 2 * AHEAD]], 1);
		if (i + AHEAD < block_count && blocks[order[i + AHEAD]].dominator < block_count)
			__builtin_prefetch(&blocks[blocks[order[i + AHEAD]].dominator], 1);
		if (by == SCAN_NODE_NONE)
			continue;
		if (by < block_count)
			blocks[by].retained_bytes += block->retained_bytes;
		else
			holders[by - block_count].retained_bytes += block->retained_bytes;
	}
}

struct err *dominators_fill(const struct pointers *pointers, const uint32_t *order,
			    struct scan_image_block *blocks, struct scan_image_holder *holders)
{
	CLEAN(dominators_deinit)
	struct dominators dominators = { .pointers = pointers, .blocks = blocks };
	struct err *err = find(&dominators, order);

	if (!err)
		retain(pointers, blocks, holders, order);
	return err;
}
