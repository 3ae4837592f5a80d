#include "../test.h"

#include <string.h>

#include "../tape_writer.h"
#include "sums/holding.h"

enum { BLOCKS = 60, HOLDERS = 3, GROUPS = 4, ROUNDS = 300 };

/* Any dominators, also in circles, as an index may have them. */
struct graph {
	struct model_scan_block blocks[BLOCKS];
	struct model_scan_holder holders[HOLDERS];
	uint32_t groups[BLOCKS];
	struct model_scan scan;
};

static void graph_make(struct graph *graph, uint64_t *random, bool has_circles)
{
	*graph = (struct graph) { 0 };
	for (uint32_t i = 0; i < BLOCKS; i++) {
		struct model_scan_block *block = &graph->blocks[i];
		const uint64_t r = random_next(random);
		const uint32_t any = (uint32_t)(r >> 8) % (has_circles ? BLOCKS : i + 1);

		block->retained_bytes = 1 + (r >> 32) % 1000;
		block->parent = r % 8 == 0		   ? MODEL_NODE_NONE
				: r % 8 == 1		   ? BLOCKS + (uint32_t)(r >> 20) % HOLDERS
				: any == i && !has_circles ? MODEL_NODE_NONE
							   : any;
		block->dominator = block->parent;
		graph->groups[i] = r >> 60 ? (uint32_t)(r >> 24) % GROUPS : UINT32_MAX;
	}
	graph->scan = (struct model_scan) { .blocks = graph->blocks,
					    .block_count = BLOCKS,
					    .holders = graph->holders,
					    .holder_count = HOLDERS };
}

/* Where the chain begins, by following it; *depth_ret: the nodes before the block. */
static uint32_t slow_root(const struct graph *graph, uint32_t block, uint32_t *depth_ret)
{
	uint32_t at = block;

	for (uint32_t depth = 0; depth <= BLOCKS; depth++) {
		const uint32_t next = graph->blocks[at].parent;

		*depth_ret = depth + (next != MODEL_NODE_NONE);
		if (next == MODEL_NODE_NONE)
			return at;
		if (next >= BLOCKS)
			return next;
		at = next;
	}
	return MODEL_NODE_NONE;
}

static void chains_begin_where_following_them_ends(void **state)
{
	uint64_t random = 3;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		CLEAN(arena_deinit) struct arena arena = { 0 };
		const uint32_t *roots, *depths;
		struct graph graph;

		graph_make(&graph, &random, round % 2);
		assert_null(holding_roots(&graph.scan,
					  round % 4 < 2 ? HOLDING_PARENT : HOLDING_DOMINATOR,
					  &arena, &roots, &depths));
		for (uint32_t i = 0; i < BLOCKS; i++) {
			uint32_t depth;

			assert_int_equal(roots[i], slow_root(&graph, i, &depth));
			if (roots[i] != MODEL_NODE_NONE)
				assert_int_equal(depths[i], depth);
		}
	}
}

static void a_site_retains_what_no_block_of_it_dominates(void **state)
{
	uint64_t random = 4;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t retained[GROUPS], slow[GROUPS] = { 0 };
		uint8_t counted[BLOCKS];
		struct graph graph;
		uint32_t depth;

		graph_make(&graph, &random, round % 2);
		assert_true(holding_retained(&graph.scan, graph.groups, GROUPS, retained, counted));
		for (uint32_t i = 0; i < BLOCKS; i++) {
			const uint32_t group = graph.groups[i];
			bool counts = group != UINT32_MAX &&
				      slow_root(&graph, i, &depth) != MODEL_NODE_NONE;

			for (uint32_t at = graph.blocks[i].dominator; counts && at < BLOCKS;
			     at = graph.blocks[at].dominator)
				counts = graph.groups[at] != group;
			assert_int_equal(counted[i], counts);
			if (counts)
				slow[group] += graph.blocks[i].retained_bytes;
		}
		assert_memory_equal(retained, slow, sizeof(slow));
	}
}

static void a_long_chain_takes_one_pass(void **state)
{
	enum { LENGTH = 1 << 20 };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(free) struct model_scan_block *blocks = calloc(LENGTH, sizeof(*blocks));
	CLEAN(free) uint32_t *groups = calloc(LENGTH, sizeof(*groups));
	const uint32_t *roots, *depths;
	struct model_scan scan = { .blocks = blocks, .block_count = LENGTH };
	uint64_t retained;

	(void)state;
	assert_non_null(blocks);
	for (uint32_t i = 0; i < LENGTH; i++) {
		blocks[i].parent = blocks[i].dominator = i + 1 < LENGTH ? i + 1 : MODEL_NODE_NONE;
		blocks[i].retained_bytes = i + 1;
	}
	assert_null(holding_roots(&scan, HOLDING_PARENT, &arena, &roots, &depths));
	assert_int_equal(roots[0], LENGTH - 1);
	assert_int_equal(depths[0], LENGTH - 1);
	assert_true(holding_retained(&scan, groups, 1, &retained, NULL));
	assert_int_equal(retained, LENGTH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_begin_where_following_them_ends),
		cmocka_unit_test(a_site_retains_what_no_block_of_it_dominates),
		cmocka_unit_test(a_long_chain_takes_one_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
