#include "collect/inherited.h"

#include "collect/walked.h"

/* Merges the blocks of the heap that no block of the tape overlaps. */
static bool merge(const struct living_blocks *heap, struct living_blocks *blocks)
{
	struct living_blocks both = { 0 };
	size_t at = 0;

	if (!living_blocks_reserve(&both, heap->count + blocks->count + 1))
		return false;
	for (size_t i = 0; i < heap->count; i++) {
		const struct living_block *block = &heap->items[i];
		const uint64_t end = block->address + block->size_bytes;

		while (at < blocks->count && blocks->items[at].address < block->address)
			both.items[both.count++] = blocks->items[at++];
		if ((at < blocks->count && blocks->items[at].address < end) ||
		    (both.count > 0 &&
		     both.items[both.count - 1].address + both.items[both.count - 1].size_bytes >
			     block->address))
			continue;
		both.items[both.count++] = *block;
	}
	while (at < blocks->count)
		both.items[both.count++] = blocks->items[at++];
	living_blocks_deinit(blocks);
	*blocks = both;
	return true;
}

static struct err *add_inherited(const struct maps *maps, const struct memory *memory,
				 const struct stop *stop, struct living *living)
{
	CLEAN(walked_deinit) struct walked walked = { 0 };
	struct err *err = walked_read("the process", "", maps, memory, stop, &walked);

	if (!err)
		return merge(&walked.living.blocks, &living->blocks) ? NULL : err_nomem();
	if (err_code_of(err) != ERR_UNSUPPORTED)
		return err;
	err_destroy(err);
	return err_new(
		ERR_UNSUPPORTED,
		"the process was forked, and blocks of its parent that it still has cannot be "
		"found, for its malloc is not glibc's: what they hold would look lost");
}

struct err *inherited_read(const struct capture *capture, uint64_t until_ticks,
			   const struct maps *maps, const struct memory *memory,
			   const struct stop *stop, struct living *living)
{
	CLEAN(living_deinit) struct living own = { 0 };
	struct err *err = living_read(capture, until_ticks, &own);

	if (!err && capture_header(capture)->flags & TAPE_FLAG_FORKED)
		err = add_inherited(maps, memory, stop, &own);
	if (err)
		return err;
	*living = own;
	own = (struct living) { 0 };
	return NULL;
}
