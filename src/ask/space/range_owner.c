#include "space/range_owner.h"

#include <assert.h>

#include "base/big.h"
#include "space/mappings.h"
#include "space/space_blocks.h"

struct counting {
	uint64_t begin, end;
	struct model_sum *stacks; /* by stack */
};

static uint64_t overlap(uint64_t begin, uint64_t end, uint64_t other_begin, uint64_t other_end)
{
	const uint64_t from = u64_max(begin, other_begin), until = u64_min(end, other_end);

	return until > from ? until - from : 0;
}

static void on_block(void *context, const struct space_block *block)
{
	struct counting *counting = context;
	const uint64_t block_end = block->usable <= UINT64_MAX - block->address
					   ? block->address + block->usable
					   : UINT64_MAX;
	const uint64_t bytes = overlap(counting->begin, counting->end, block->address, block_end);

	if (bytes == 0)
		return;
	counting->stacks[block->stack].count++;
	counting->stacks[block->stack].bytes += bytes;
}

static struct err *blocks_find(const struct model *model, uint64_t ns, struct counting *counting,
			       struct range_owner *owner)
{
	const size_t count = model_stack_count(model);
	CLEAN(free) struct model_sum *stacks = big_calloc(count + 1, sizeof(*stacks));

	counting->stacks = stacks;
	if (!stacks || !space_blocks_each(model, u64_min(ns, UINT64_MAX - 1) + 1, MODEL_SIZE,
					  on_block, counting))
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		if (stacks[i].bytes <= owner->bytes)
			continue;
		owner->stack = (uint32_t)i;
		owner->bytes = stacks[i].bytes;
		owner->blocks = stacks[i].count;
	}
	return NULL;
}

/* UINT32_MAX: none. */
static uint32_t mapping_of(const struct mappings *mappings, uint64_t begin, uint64_t end)
{
	const struct mappings_piece_vec *pieces = mappings_pieces(mappings);
	uint64_t most = 0;
	uint32_t found = UINT32_MAX;

	for (size_t i = 0; i < pieces->count; i++) {
		const struct mappings_piece *piece = &pieces->items[i];
		const uint64_t bytes = overlap(begin, end, piece->begin, piece->end);

		if (bytes <= most)
			continue;
		most = bytes;
		found = piece->mapping;
	}
	return found;
}

struct err *range_owner_find(const struct model *model, uint64_t ns, uint64_t begin, uint64_t end,
			     struct arena *arena, struct range_owner *owner_ret)
{
	CLEAN(mappings_destroy) struct mappings *mappings = NULL;
	struct range_owner owner = { .mapping = UINT32_MAX,
				     .mapping_stack = CAPTURE_STACK_NONE,
				     .stack = CAPTURE_STACK_NONE };
	struct counting counting = { .begin = begin, .end = end };
	struct err *err = mappings_create(model, &mappings);

	if (!err)
		err = mappings_advance(mappings, ns);
	if (!err && model_row_count(model) > 0)
		err = blocks_find(model, ns, &counting, &owner);
	if (err)
		return err;
	owner.mapping = mapping_of(mappings, begin, end);
	if (owner.mapping != UINT32_MAX) {
		const struct mapping *mapping;

		if (owner.blocks > 0)
			mappings_mark_blocks(mappings, owner.mapping);
		mapping = &mappings_all(mappings)->items[owner.mapping];
		owner.kind = mapping_kind_words[mapping_kind(mapping)];
		owner.name = arena_strdup(arena, mapping->name);
		owner.mapping_stack = mapping->stack;
		if (!owner.name)
			return err_nomem();
	}
	*owner_ret = owner;
	return NULL;
}
