#include "scan/heap_walk.h"

#include <assert.h>

#include "base/sort.h"
#include "scan/heap_parts.h"

enum { WINDOW_BYTES = 256 << 10, FOREIGN_BYTES_MAX = 1 << 20, HEAPS_MAX = 1 << 20 };

void heap_deinit(struct heap *heap)
{
	heap_blocks_deinit(&heap->blocks);
	heap_ranges_deinit(&heap->regions);
}

static void walker_deinit(struct heap_walker *walker)
{
	heap_arenas_deinit(&walker->arenas);
	free(walker->window);
}
CLEAN_DEFINE_DEINIT(walker_deinit, struct heap_walker);

bool heap_word(const struct heap_walker *walker, uint64_t address, uint64_t *word_ret)
{
	return memory_read(&walker->request->memory, address, word_ret, sizeof(*word_ret));
}

/* --- chunks ---------------------------------------------------------------------------------- */

/* The word that has a chunk's size; chunks are looked at in order. 0: it cannot be read. */
static uint64_t head_at(struct heap_walker *walker, uint64_t chunk)
{
	const struct memory *memory = &walker->request->memory;
	const uint64_t address = chunk + HEAP_WORD;

	if (address < walker->window_begin ||
	    address - walker->window_begin + HEAP_WORD > walker->window_bytes) {
		walker->window_begin = address;
		walker->window_bytes =
			memory->read(memory->context, address, walker->window, WINDOW_BYTES);
	}
	return walker->window_bytes < HEAP_WORD
		       ? 0
		       : load_u64(walker->window + (address - walker->window_begin));
}

static void take_chunk(struct heap_walker *walker, uint64_t chunk, uint64_t size, bool in_use)
{
	struct heap *heap = walker->heap;
	const struct heap_block block = { chunk + HEAP_HEAD_BYTES, size - HEAP_WORD, false };

	if (in_use) {
		walker->failed |= !heap_blocks_push(&heap->blocks, block);
	} else {
		heap->free_count++;
		heap->free_bytes += block.usable_bytes;
	}
}

/* A stretch of chunks. */
struct stretch {
	uint64_t begin, end; /* end: the top, or of the memory */
	bool has_top;
	uint64_t arena_bit; /* of chunks in use: HEAP_NOT_MAIN or 0 */
};

static bool is_sound(const struct stretch *stretch, uint64_t chunk, uint64_t head)
{
	const uint64_t size = heap_size(head);

	return size >= HEAP_CHUNK_MIN && size % HEAP_UNIT == 0 && size <= stretch->end - chunk &&
	       !(head & HEAP_MAPPED) && (head & HEAP_NOT_MAIN) <= stretch->arena_bit;
}

/* Where it ends: at stretch->end, at a fencepost, or where no chunk is. */
static uint64_t walk(struct heap_walker *walker, const struct stretch *stretch)
{
	uint64_t chunk = stretch->begin;
	uint64_t head = chunk < stretch->end ? head_at(walker, chunk) : 0;

	while (chunk < stretch->end && is_sound(stretch, chunk, head) && !walker->failed) {
		const uint64_t size = heap_size(head), next = chunk + size;
		uint64_t next_head;
		bool in_use;

		if (next == stretch->end && !stretch->has_top)
			return chunk; /* the memory's end is a fencepost */
		next_head = head_at(walker, next);
		in_use = next_head & HEAP_PREVIOUS_IN_USE;
		if (in_use && (head & HEAP_NOT_MAIN) != stretch->arena_bit)
			return chunk; /* a fencepost */
		take_chunk(walker, chunk, size, in_use);
		chunk = next;
		head = next_head;
	}
	return chunk;
}

static void note_undecoded(struct heap_walker *walker, uint64_t begin, uint64_t end)
{
	walker->heap->undecoded_count++;
	walker->heap->undecoded_bytes += end - begin;
}

/* What was taken before a walk that led nowhere. */
struct mark {
	size_t block_count;
	uint64_t free_count, free_bytes;
};

static struct mark mark_of(const struct heap *heap)
{
	return (struct mark) { heap->blocks.count, heap->free_count, heap->free_bytes };
}

static void go_back(struct heap *heap, const struct mark *mark)
{
	heap->blocks.count = mark->block_count;
	heap->free_count = mark->free_count;
	heap->free_bytes = mark->free_bytes;
}

/*
 * A program may call sbrk() itself. Malloc then puts two fenceposts before that memory and goes on
 * behind it.
 */
static bool walk_behind(struct heap_walker *walker, const struct stretch *stretch, uint64_t from)
{
	const struct mark mark = mark_of(walker->heap);
	const uint64_t end = u64_min(stretch->end, from + FOREIGN_BYTES_MAX);

	for (uint64_t at = from; at < end && !walker->failed; at += HEAP_UNIT) {
		struct stretch rest = *stretch;
		const uint64_t head = head_at(walker, at);

		rest.begin = at;
		if (!(head & HEAP_PREVIOUS_IN_USE) || !is_sound(&rest, at, head))
			continue;
		if (walk(walker, &rest) == rest.end)
			return true;
		go_back(walker->heap, &mark);
	}
	return false;
}

/* All chunks up to the top, of memory that may have holes; false: that is not to be had. */
static void walk_main(struct heap_walker *walker, const struct stretch *stretch)
{
	uint64_t at = walk(walker, stretch);

	if (at == stretch->end)
		return;
	if (heap_size(head_at(walker, at)) == HEAP_HEAD_BYTES &&
	    walk_behind(walker, stretch, at + 2 * HEAP_HEAD_BYTES))
		return;
	note_undecoded(walker, at, stretch->end);
}

/* --- arenas ---------------------------------------------------------------------------------- */

static void add_region(struct heap_walker *walker, uint64_t begin, uint64_t end)
{
	walker->failed |=
		!heap_ranges_push(&walker->heap->regions, (struct heap_range) { begin, end });
}

/*
 * A piece of a main arena that has several: chunks up to fenceposts, or to the top; behind them
 * may be another, in the same mapping. Returns how many bytes it has: what follows
 * is not malloc's.
 */
static uint64_t walk_piece(struct heap_walker *walker, const struct maps_entry *entry, uint64_t top,
			   uint64_t top_end)
{
	uint64_t at = entry->begin;

	while (at < entry->end && !walker->failed) {
		const bool has_top = top >= at && top < entry->end;
		const struct stretch stretch = { at, has_top ? top : entry->end, has_top, 0 };

		at = walk(walker, &stretch);
		if (has_top && at == top)
			at = top_end;
		else if (at < entry->end && heap_size(head_at(walker, at)) == HEAP_HEAD_BYTES)
			at += HEAP_HEAD_BYTES;
		else
			break;
	}
	add_region(walker, entry->begin, at);
	return at - entry->begin;
}

/* Where the break could not grow, the memory is in mappings: the first one, and the top's. */
static void walk_pieces(struct heap_walker *walker, const struct heap_arena *arena, uint64_t end)
{
	const struct maps *maps = walker->request->maps;
	const struct maps_entry *last = maps_find(maps, arena->top);
	const uint64_t first_heap = heap_count_find(walker, 0);
	const struct maps_entry *first = first_heap ? maps_find(maps, first_heap) : NULL;
	uint64_t bytes = 0;

	if (first && first != last)
		bytes += walk_piece(walker, first, arena->top, end);
	bytes += walk_piece(walker, last, arena->top, end);
	if (bytes < arena->system_bytes)
		note_undecoded(walker, bytes, arena->system_bytes);
}

/*
 * The memory of the main arena comes from the break and is in one piece, so it begins as many bytes
 * before its end as malloc has got from the system.
 */
static void walk_main_arena(struct heap_walker *walker, const struct heap_arena *arena)
{
	const uint64_t head = head_at(walker, arena->top);
	const uint64_t end = arena->top + heap_size(head);
	struct stretch stretch = { .end = arena->top, .has_top = true };

	if (head == 0 || !maps_find(walker->request->maps, arena->top) || end <= arena->top) {
		walker->heap->broken_lists++;
		return;
	}
	stretch.begin = arena->system_bytes <= end ? end - arena->system_bytes : 0;
	stretch.begin = align_up(stretch.begin, HEAP_UNIT);
	if (stretch.begin > arena->top ||
	    !maps_cover(walker->request->maps, stretch.begin, end, true)) {
		walk_pieces(walker, arena, end);
		return;
	}
	add_region(walker, stretch.begin, end);
	walk_main(walker, &stretch);
}

/* A heap is a window of 64 MiB: it says whose it is, which one was before, and its size. */
static bool walk_heap(struct heap_walker *walker, const struct heap_arena *arena, uint64_t heap,
		      uint64_t *before_ret)
{
	const uint64_t home = arena->address & -(uint64_t)HEAP_WINDOW_BYTES;
	const bool has_top = heap == (arena->top & -(uint64_t)HEAP_WINDOW_BYTES);
	struct stretch stretch = { .has_top = has_top, .arena_bit = HEAP_NOT_MAIN };
	uint64_t words[3], at;

	if (!memory_read(&walker->request->memory, heap, words, sizeof(words)) ||
	    words[0] != arena->address || words[2] > HEAP_WINDOW_BYTES ||
	    arena->address - home > words[2])
		return false;
	*before_ret = words[1];
	stretch.begin = heap == home ? align_up(arena->bins + HEAP_STATE_BEHIND, HEAP_UNIT)
				     : heap + (arena->address - home);
	stretch.end = has_top ? arena->top : heap + words[2];
	add_region(walker, heap, heap + words[2]);
	at = walk(walker, &stretch);
	/* Behind the last chunk of a heap that is full are two fenceposts. */
	if (has_top ? at != stretch.end : stretch.end - at > 2 * HEAP_CHUNK_MIN)
		note_undecoded(walker, at, stretch.end);
	return true;
}

static void walk_arena(struct heap_walker *walker, const struct heap_arena *arena)
{
	uint64_t heap = arena->top & -(uint64_t)HEAP_WINDOW_BYTES;

	for (unsigned i = 0; i < HEAPS_MAX && heap && !walker->failed; i++) {
		uint64_t before = 0;

		if (!walk_heap(walker, arena, heap, &before)) {
			walker->heap->broken_lists++;
			return;
		}
		heap = before;
	}
}

/* --- all of it ------------------------------------------------------------------------------- */

static int compare_blocks(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct heap_block *)a)->address,
				((const struct heap_block *)b)->address);
}

bool heap_blocks_order(struct heap_blocks *blocks, uint64_t *overlapping_ret)
{
	size_t kept = 0;

	if (!sort_stable(blocks->items, blocks->count, sizeof(*blocks->items), compare_blocks,
			 NULL))
		return false;
	for (size_t i = 0; i < blocks->count; i++) {
		const struct heap_block *last = blocks->items + kept - 1;

		if (kept == 0 || blocks->items[i].address >= last->address + last->usable_bytes)
			blocks->items[kept++] = blocks->items[i];
	}
	*overlapping_ret = blocks->count - kept;
	blocks->count = kept;
	return true;
}

struct err *heap_walk(const struct heap_request *request, struct heap *heap)
{
	CLEAN(heap_deinit) struct heap own = { 0 };
	CLEAN(walker_deinit) struct heap_walker walker = { .request = request, .heap = &own };
	uint64_t overlapping;
	struct err *err;

	assert(request->memory.read);
	assert(request->maps && request->stop && request->data);
	walker.window = malloc(WINDOW_BYTES);
	if (!walker.window)
		return err_nomem();
	err = heap_arenas_find(&walker);
	if (err)
		return err;
	own.arena_count = walker.arenas.count;
	for (size_t i = 0; i < walker.arenas.count; i++)
		if (walker.arenas.items[i].is_main)
			walk_main_arena(&walker, &walker.arenas.items[i]);
		else
			walk_arena(&walker, &walker.arenas.items[i]);
	if (walker.failed || !heap_blocks_order(&own.blocks, &overlapping))
		return err_nomem();
	heap_cached_drop(&walker);
	heap_mapped_find(&walker);
	if (walker.failed || !heap_blocks_order(&own.blocks, &overlapping))
		return err_nomem();
	*heap = own;
	own = (struct heap) { 0 };
	return NULL;
}
