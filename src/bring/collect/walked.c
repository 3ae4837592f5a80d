#include "collect/walked.h"

#include <assert.h>

#include "scan/objects.h"

void walked_deinit(struct walked *walked)
{
	living_deinit(&walked->living);
	heap_deinit(&walked->heap);
}

/* Roots are what is not a chunk, of mappings that have chunks of their own. */
static bool add_gaps(struct walked *walked, const struct maps_entry *entry, size_t *at)
{
	const struct heap_blocks *blocks = &walked->heap.blocks;
	uint64_t begin = entry->begin;

	while (*at < blocks->count && blocks->items[*at].address < entry->begin)
		++*at;
	for (; *at < blocks->count && blocks->items[*at].address < entry->end; ++*at) {
		const struct heap_block *block = &blocks->items[*at];

		if (!block->is_mapped)
			return true;
		if (block->address > begin &&
		    !mapped_add(&walked->living.mapped, begin, block->address - begin))
			return false;
		begin = block->address + block->usable_bytes;
	}
	return begin == entry->begin || begin >= entry->end ||
	       mapped_add(&walked->living.mapped, begin, entry->end - begin);
}

static bool put_mapped(struct mapped *mapped, uint64_t begin, uint64_t end)
{
	uint64_t removed;

	return begin >= end || (mapped_remove(mapped, begin, end - begin, &removed) &&
				mapped_add(mapped, begin, end - begin));
}

/*
 * What is beside an arena's memory in the same mapping is not malloc's: thread-local memory, which
 * static programs take from the break, and mappings that the kernel has joined.
 */
static bool add_besides(struct walked *walked, const struct maps *maps)
{
	const struct heap_ranges *regions = &walked->heap.regions;
	struct mapped *mapped = &walked->living.mapped;
	uint64_t removed;
	bool ok = true;

	for (size_t i = 0; i < regions->count; i++) {
		const struct heap_range *region = &regions->items[i];
		const struct maps_entry *first = maps_find(maps, region->begin);
		const struct maps_entry *last = maps_find(maps, region->end - 1);

		if (first)
			ok &= put_mapped(mapped, first->begin, region->begin);
		if (last)
			ok &= put_mapped(mapped, region->end, last->end);
	}
	for (size_t i = 0; i < regions->count; i++)
		ok &= mapped_remove(mapped, regions->items[i].begin,
				    regions->items[i].end - regions->items[i].begin, &removed);
	return ok;
}

static struct err *take_heap(struct walked *walked, const struct maps *maps)
{
	const struct heap_blocks *blocks = &walked->heap.blocks;
	size_t at = 0;

	if (!living_blocks_reserve(&walked->living.blocks, blocks->count + 1))
		return err_nomem();
	for (size_t i = 0; i < blocks->count; i++)
		walked->living.blocks.items[i] =
			(struct living_block) { blocks->items[i].address,
						blocks->items[i].usable_bytes };
	walked->living.blocks.count = blocks->count;
	for (size_t i = 0; i < maps->entries.count; i++)
		if (!add_gaps(walked, &maps->entries.items[i], &at))
			return err_nomem();
	return add_besides(walked, maps) ? NULL : err_nomem();
}

static struct err *refuse(const char *subject, const char *why)
{
	return err_new(ERR_UNSUPPORTED,
		       "%s was not recorded, and its heap cannot be read: %s; record it from its "
		       "start: `memtape record PROGRAM`",
		       subject, why);
}

static struct err *walk(const char *subject, const char *root, const struct heap_request *request,
			bool may_be_musl, struct walked *walked)
{
	const struct objects_allocators others = objects_allocators(&walked->living.stacks, root);
	CLEAN(str_deinit) struct str why = { 0 };
	struct err *err;

	walked->beside = others.beside ? others.beside->path : NULL;
	if (others.instead) {
		str_printf(&why, "it has the malloc of %s, not glibc's", others.instead->path);
		return refuse(subject, str_text(&why));
	}
	err = heap_walk(request, &walked->heap);
	if (err && err_code_of(err) == ERR_NOT_FOUND && may_be_musl) {
		err_destroy(err);
		err = heap_musl_walk(request, &walked->heap);
	}
	if (err && err_code_of(err) == ERR_NOT_FOUND) {
		err_destroy(err);
		return refuse(subject, may_be_musl ? "it has no heap of glibc, nor of musl 1.2.1"
						   : "it has no heap of glibc");
	}
	return err;
}

static struct err *read_all(const char *subject, const char *root, const struct maps *maps,
			    const struct memory *memory, const struct stop *stop, bool may_be_musl,
			    struct walked *walked)
{
	CLEAN(walked_deinit) struct walked own = { 0 };
	CLEAN(heap_ranges_deinit) struct heap_ranges data = { 0 };
	const struct heap_request request = { *memory, maps, stop, &data };
	struct err *err;

	assert(subject);
	own.living.until_ticks = UINT64_MAX;
	if (!capture_stacks_init(&own.living.stacks))
		return err_nomem();
	err = objects_find("", maps, memory, &own.living.stacks);
	if (!err)
		err = objects_data(maps, &own.living.stacks, &data);
	if (!err)
		err = walk(subject, root, &request, may_be_musl, &own);
	if (!err)
		err = take_heap(&own, maps);
	if (err)
		return err;
	*walked = own;
	own = (struct walked) { 0 };
	return NULL;
}

struct err *walked_read(const char *subject, const char *root, const struct maps *maps,
			const struct memory *memory, const struct stop *stop, struct walked *walked)
{
	return read_all(subject, root, maps, memory, stop, false, walked);
}

struct err *walked_read_blocks(const char *subject, const char *root, const struct maps *maps,
			       const struct memory *memory, const struct stop *stop,
			       struct walked *walked)
{
	return read_all(subject, root, maps, memory, stop, true, walked);
}
