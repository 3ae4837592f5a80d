#include <stdlib.h>

#include "base/sort.h"
#include "scan/heap_parts.h"

enum {
	TLS_BYTES = 64 << 10, /* how far below a thread's control block its variables may be */
	CACHE_BINS = 64,      /* of chunks of 32, 48 ... bytes */
	FAST_STEPS_MAX = 1 << 26,
	GUARD_SHIFT = 12 /* from glibc 2.32 on links are mixed with their own address */
};

/* A thread's cache: how many chunks are in each list, then the lists. */
struct cache {
	uint64_t counts[CACHE_BINS];
	uint64_t lists[CACHE_BINS];
};

/* A variable of libc has a cache's address; it is equally far from each thread's control block. */
struct vote {
	uint64_t offset; /* below the control block */
	uint64_t count;
};

VEC_DEFINE(votes, struct vote);

struct dropper {
	struct heap_walker *walker;
	struct vec_u64 cached; /* addresses of blocks that wait in lists */
	struct vec_u64 caches; /* of blocks that are caches */
	bool is_guarded;       /* links are mixed */
};

/* How large the counters of a cache are, by the size of its block; 0: it is none. */
static unsigned counter_bytes(uint64_t usable_bytes)
{
	enum { LISTS = CACHE_BINS * HEAP_WORD };

	if (usable_bytes == CACHE_BINS * 2 + LISTS + HEAP_WORD)
		return 2; /* from glibc 2.30 on */
	return usable_bytes == CACHE_BINS + LISTS + HEAP_WORD ? 1 : 0;
}

static bool cache_read(const struct heap_walker *walker, const struct heap_block *block,
		       struct cache *cache)
{
	const unsigned width = counter_bytes(block->usable_bytes);
	uint8_t counts[CACHE_BINS * 2];

	if (width == 0 ||
	    !memory_read(&walker->request->memory, block->address, counts,
			 (size_t)width * CACHE_BINS) ||
	    !memory_read(&walker->request->memory, block->address + (uint64_t)width * CACHE_BINS,
			 cache->lists, sizeof(cache->lists)))
		return false;
	for (size_t i = 0; i < CACHE_BINS; i++)
		cache->counts[i] = width == 2 ? load_u16(counts + 2 * i) : counts[i];
	return true;
}

/* Whether a block begins there, with the size of the list. */
static bool is_entry(const struct heap_walker *walker, uint64_t address, size_t list)
{
	uint64_t head;

	return address % HEAP_UNIT == 0 && heap_word(walker, address - HEAP_WORD, &head) &&
	       heap_size(head) == HEAP_CHUNK_MIN + (uint64_t)list * HEAP_UNIT;
}

/* A block of this size that is not a cache has something else in it. */
static bool is_cache(const struct heap_walker *walker, const struct heap_block *block)
{
	struct cache cache;

	if (!cache_read(walker, block, &cache))
		return false;
	for (size_t i = 0; i < CACHE_BINS; i++)
		if (cache.counts[i] > 0 ? !is_entry(walker, cache.lists[i], i)
					: cache.lists[i] != 0)
			return false;
	return true;
}

static const struct heap_block *block_find(const struct heap *heap, uint64_t address)
{
	size_t low = 0, high = heap->blocks.count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (heap->blocks.items[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < heap->blocks.count && heap->blocks.items[low].address == address
		       ? &heap->blocks.items[low]
		       : NULL;
}

/* --- where caches are ------------------------------------------------------------------------ */

static bool cast(struct votes *votes, uint64_t offset)
{
	for (size_t i = 0; i < votes->count; i++)
		if (votes->items[i].offset == offset) {
			votes->items[i].count++;
			return true;
		}
	return votes_push(votes, (struct vote) { offset, 1 });
}

/* The words below a thread's control block that point to what looks like a cache. */
static void thread_votes(const struct dropper *dropper, const struct stop_thread *thread,
			 struct votes *votes)
{
	struct heap_walker *walker = dropper->walker;
	const uint64_t control = thread->registers[ARCH_REGSET_THREAD];
	uint64_t end = control & ~(uint64_t)(HEAP_WORD - 1);
	const uint64_t lowest = end - u64_min(TLS_BYTES, end);
	uint8_t page[HEAP_PAGE];

	while (end > lowest) { /* a page at a time: what is below may not be there */
		const uint64_t begin = u64_max(lowest, (end - 1) & -(uint64_t)HEAP_PAGE);

		if (!memory_read(&walker->request->memory, begin, page, end - begin))
			return;
		for (uint64_t at = begin; at < end; at += HEAP_WORD) {
			const struct heap_block *block =
				block_find(walker->heap, load_u64(page + (at - begin)));

			if (block && counter_bytes(block->usable_bytes) && is_cache(walker, block))
				walker->failed |= !cast(votes, control - at);
		}
		end = begin;
	}
}

static uint64_t winner(const struct votes *votes)
{
	const struct vote *best = NULL;

	for (size_t i = 0; i < votes->count; i++)
		if (!best || votes->items[i].count > best->count)
			best = &votes->items[i];
	return best ? best->offset : 0;
}

static void caches_find(struct dropper *dropper)
{
	struct heap_walker *walker = dropper->walker;
	const struct stop_threads *threads = &walker->request->stop->threads;
	CLEAN(votes_deinit) struct votes votes = { 0 };
	uint64_t offset;

	for (size_t i = 0; i < threads->count; i++)
		thread_votes(dropper, &threads->items[i], &votes);
	offset = winner(&votes);
	for (size_t i = 0; i < threads->count && offset; i++) {
		const uint64_t control = threads->items[i].registers[ARCH_REGSET_THREAD];
		uint64_t address;

		if (heap_word(walker, control - offset, &address) &&
		    block_find(walker->heap, address))
			walker->failed |= !vec_u64_push(&dropper->caches, address);
	}
}

/* --- lists ----------------------------------------------------------------------------------- */

static uint64_t unmix(const struct dropper *dropper, uint64_t address, uint64_t link)
{
	return dropper->is_guarded ? link ^ address >> GUARD_SHIFT : link;
}

static void list_drop(struct dropper *dropper, uint64_t first, uint64_t count, uint64_t link_add)
{
	struct heap_walker *walker = dropper->walker;
	uint64_t address = first;

	for (uint64_t i = 0; address && i < count && !walker->failed; i++) {
		uint64_t link;

		if (!block_find(walker->heap, address) || !heap_word(walker, address, &link)) {
			walker->heap->broken_lists++;
			return;
		}
		walker->failed |= !vec_u64_push(&dropper->cached, address);
		address = unmix(dropper, address, link);
		address += address ? link_add : 0;
	}
}

static void cache_drop(struct dropper *dropper, uint64_t address)
{
	const struct heap_block *block = block_find(dropper->walker->heap, address);
	struct cache cache;

	if (!block || !cache_read(dropper->walker, block, &cache))
		return;
	for (size_t i = 0; i < CACHE_BINS; i++)
		list_drop(dropper, cache.lists[i], cache.counts[i], 0);
}

/* Links there are to chunks, which begin before their blocks. */
static void fastbins_drop(struct dropper *dropper, const struct heap_arena *arena)
{
	uint64_t lists[HEAP_FAST_COUNT];

	if (!memory_read(&dropper->walker->request->memory, arena->bins - HEAP_FAST_BEFORE, lists,
			 sizeof(lists)))
		return;
	for (size_t i = 0; i < HEAP_FAST_COUNT; i++)
		if (lists[i])
			list_drop(dropper, lists[i] + HEAP_HEAD_BYTES, FAST_STEPS_MAX,
				  HEAP_HEAD_BYTES);
}

/* The last link of a list is 0, if it is not mixed, and else never. */
static bool has_plain_link(const struct dropper *dropper, uint64_t address, uint64_t link_add)
{
	uint64_t link;

	return heap_word(dropper->walker, address, &link) &&
	       (link == 0 || block_find(dropper->walker->heap, link + link_add));
}

struct ballot {
	uint64_t plain, mixed;
};

static void look_at_cache(const struct dropper *dropper, uint64_t address, struct ballot *ballot)
{
	const struct heap_block *block = block_find(dropper->walker->heap, address);
	struct cache cache;

	if (!block || !cache_read(dropper->walker, block, &cache))
		return;
	for (size_t i = 0; i < CACHE_BINS; i++)
		if (cache.counts[i] > 0)
			*(has_plain_link(dropper, cache.lists[i], 0) ? &ballot->plain
								     : &ballot->mixed) += 1;
}

static void look_at_fastbins(const struct dropper *dropper, const struct heap_arena *arena,
			     struct ballot *ballot)
{
	for (size_t i = 0; i < HEAP_FAST_COUNT; i++) {
		uint64_t chunk;

		if (heap_word(dropper->walker, arena->bins - HEAP_FAST_BEFORE + i * HEAP_WORD,
			      &chunk) &&
		    chunk)
			*(has_plain_link(dropper, chunk + HEAP_HEAD_BYTES, HEAP_HEAD_BYTES)
				  ? &ballot->plain
				  : &ballot->mixed) += 1;
	}
}

/* By most of the lists' first entries. */
static void guard_find(struct dropper *dropper)
{
	const struct heap_arenas *arenas = &dropper->walker->arenas;
	struct ballot ballot = { 0 };

	for (size_t i = 0; i < dropper->caches.count; i++)
		look_at_cache(dropper, dropper->caches.items[i], &ballot);
	for (size_t i = 0; i < arenas->count; i++)
		look_at_fastbins(dropper, &arenas->items[i], &ballot);
	dropper->is_guarded = ballot.mixed > ballot.plain;
}

/* --- all of it ------------------------------------------------------------------------------- */

static int compare_addresses(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(*(const uint64_t *)a, *(const uint64_t *)b);
}

static bool order(struct vec_u64 *addresses)
{
	return sort_stable(addresses->items, addresses->count, sizeof(*addresses->items),
			   compare_addresses, NULL);
}

/* Addresses ascend, and at counts how many are behind; each may be there more than once. */
static bool passes(const struct vec_u64 *addresses, size_t *at, uint64_t address)
{
	while (*at < addresses->count && addresses->items[*at] < address)
		++*at;
	return *at < addresses->count && addresses->items[*at] == address;
}

static void blocks_drop(struct dropper *dropper)
{
	struct heap *heap = dropper->walker->heap;
	size_t kept = 0, cached_at = 0, caches_at = 0;

	for (size_t i = 0; i < heap->blocks.count; i++) {
		const struct heap_block *block = &heap->blocks.items[i];

		if (passes(&dropper->cached, &cached_at, block->address)) {
			heap->cached_count++;
			heap->cached_bytes += block->usable_bytes;
		} else if (passes(&dropper->caches, &caches_at, block->address)) {
			heap->cache_count++;
		} else {
			heap->blocks.items[kept++] = *block;
		}
	}
	heap->blocks.count = kept;
}

void heap_cached_drop(struct heap_walker *walker)
{
	struct dropper dropper = { .walker = walker };

	caches_find(&dropper);
	guard_find(&dropper);
	for (size_t i = 0; i < dropper.caches.count; i++)
		cache_drop(&dropper, dropper.caches.items[i]);
	for (size_t i = 0; i < walker->arenas.count; i++)
		fastbins_drop(&dropper, &walker->arenas.items[i]);
	walker->failed |= !order(&dropper.cached) || !order(&dropper.caches);
	if (!walker->failed)
		blocks_drop(&dropper);
	vec_u64_deinit(&dropper.cached);
	vec_u64_deinit(&dropper.caches);
}
