#include "scan/graph.h"

#include <assert.h>

#include "base/big.h"
#include "scan/dominators.h"
#include "scan/pointers.h"
#include "scan/reach.h"

/* Sizes are without what the next block overlaps: blocks of an image do not. */
static struct err *image_create(const struct graph *graph, const struct block_index *index,
				struct scan_image *image)
{
	image->blocks = big_calloc(graph->block_count + 1, sizeof(*image->blocks));
	image->holders = calloc(graph->holder_count + 1, sizeof(*image->holders));
	if (!image->blocks || !image->holders)
		return err_nomem();
	image->block_count = graph->block_count;
	image->holder_count = graph->holder_count;
	for (size_t i = 0; i < graph->block_count; i++) {
		image->blocks[i].address = graph->blocks[i].address;
		image->blocks[i].size_bytes = block_index_size(index, i);
	}
	return NULL;
}

static struct err *scan(const struct graph *graph, const struct block_index *index,
			struct scan_image *image)
{
	CLEAN(pointers_deinit) struct pointers pointers = { 0 };
	CLEAN(free) uint32_t *order = big_calloc(graph->block_count + 1, sizeof(*order));
	struct err *err = order ? pointers_init(&pointers, graph, index) : err_nomem();

	if (!err)
		err = image_create(graph, index, image);
	if (!err)
		err = reach_fill(&pointers, image->blocks, order);
	if (!err)
		err = dominators_fill(&pointers, order, image->blocks, image->holders);
	image->facts.root_bytes = pointers.root_bytes;
	image->facts.block_bytes = pointers.block_bytes;
	image->facts.unread_bytes = pointers.unread_bytes;
	return err;
}

struct err *graph_scan(const struct graph *graph, struct scan_image *image)
{
	CLEAN(block_index_deinit) struct block_index index = { 0 };
	CLEAN(scan_image_deinit) struct scan_image made = { 0 };
	struct err *err;

	assert(graph->pointer_bytes == 4 || graph->pointer_bytes == 8);
	assert(!image->blocks && !image->holders);
	if (graph->block_count >= INT32_MAX || graph->holder_count >= INT32_MAX)
		return err_new(ERR_LIMIT, "a leak scan of %zu blocks", graph->block_count);
	err = block_index_init(&index, graph->blocks, graph->block_count);
	if (!err)
		err = scan(graph, &index, &made);
	if (err)
		return err;
	image->blocks = steal(made.blocks);
	image->block_count = made.block_count;
	image->holders = steal(made.holders);
	image->holder_count = made.holder_count;
	image->facts.root_bytes = made.facts.root_bytes;
	image->facts.block_bytes = made.facts.block_bytes;
	image->facts.unread_bytes = made.facts.unread_bytes;
	return NULL;
}
