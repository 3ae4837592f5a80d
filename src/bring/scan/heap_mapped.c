#include "scan/heap_parts.h"

enum {
	ALIGNMENT_BITS_MIN = 5,
	ALIGNMENT_BITS_MAX = 30,
	GAP_PAGES_MAX = 1 << 18 /* that are no chunks; programs may map very much */
};

/* --- how many there are, as malloc counts ---------------------------------------------------- */

/*
 * Words of struct malloc_par: how many bytes are mapped, how many there were at most, and where the
 * first heap begins, by which they are found. Before them are ints n_mmaps, n_mmaps_max,
 * max_n_mmaps and no_dyn_threshold; from glibc 2.35 on four bytes more.
 */
static bool take_count(struct heap *heap, const uint8_t *words, size_t count_before)
{
	const uint8_t *ints = words - count_before;
	const uint64_t count = load_u32(ints), most = load_u32(ints + 8);
	const uint64_t bytes = load_u64(words), bytes_most = load_u64(words + HEAP_WORD);

	if (load_u32(ints + 4) == 0 || count > most || most > load_u32(ints + 4) ||
	    bytes > bytes_most || bytes % HEAP_PAGE || (count == 0) != (bytes == 0) ||
	    (most == 0) != (bytes_most == 0))
		return false;
	heap->is_expected = true;
	heap->expected_count = count;
	heap->expected_bytes = bytes;
	return true;
}

/* Whether memory of the program begins there, of no file. */
static bool is_begin(const struct maps *maps, uint64_t address)
{
	const struct maps_entry *entry = maps_find(maps, address);

	return entry && entry->begin == address && entry->is_writable && !entry->is_file &&
	       !entry->is_shared;
}

/* Where the first heap begins; first_heap: it is known, 0: it is not. 0: not found. */
static uint64_t count_in(const struct heap_walker *walker, const struct heap_range *range,
			 uint64_t first_heap)
{
	enum { INTS = 24, BEFORE = INTS + 2 * HEAP_WORD, COUNT_BEFORE = 20, COUNT_BEFORE_OLD = 16 };
	const struct memory *memory = &walker->request->memory;
	uint8_t page[HEAP_PAGE + BEFORE];

	for (uint64_t at = align_up(range->begin, HEAP_WORD);
	     at < range->end && range->end - at > BEFORE; at += HEAP_PAGE) {
		const size_t bytes = memory->read(memory->context, at, page,
						  u64_min(sizeof(page), range->end - at));

		for (size_t i = BEFORE; i + HEAP_WORD <= bytes; i += HEAP_WORD) {
			const uint8_t *words = page + i - 2 * HEAP_WORD;
			const uint64_t heap = load_u64(page + i);

			if ((first_heap ? heap == first_heap
					: is_begin(walker->request->maps, heap)) &&
			    (take_count(walker->heap, words, COUNT_BEFORE) ||
			     take_count(walker->heap, words, COUNT_BEFORE_OLD)))
				return heap;
		}
	}
	return 0;
}

uint64_t heap_count_find(const struct heap_walker *walker, uint64_t first_heap)
{
	const struct heap_ranges *data = walker->request->data;
	uint64_t found = 0;

	for (size_t i = 0; i < data->count && !found; i++)
		found = count_in(walker, &data->items[i], first_heap);
	return found;
}

/* --- chunks ---------------------------------------------------------------------------------- */

/* The size of a chunk that begins there and fills whole pages; 0: there is none. */
static uint64_t mapping_at(const struct heap_walker *walker, uint64_t address, uint64_t end)
{
	uint64_t words[2];

	if (!memory_read(&walker->request->memory, address, words, sizeof(words)) ||
	    words[0] != 0 || (words[1] & HEAP_BITS) != HEAP_MAPPED ||
	    heap_size(words[1]) % HEAP_PAGE || heap_size(words[1]) > end - address)
		return 0;
	return heap_size(words[1]);
}

/*
 * Of a block with an alignment the chunk begins later, and says how much later; what was its
 * beginning at first still stands there.
 */
static uint64_t aligned_at(const struct heap_walker *walker, uint64_t mapping, uint64_t bytes)
{
	for (unsigned bits = ALIGNMENT_BITS_MIN; bits < ALIGNMENT_BITS_MAX; bits++) {
		const uint64_t alignment = UINT64_C(1) << bits;
		uint64_t chunk = align_up(mapping + HEAP_HEAD_BYTES, alignment) - HEAP_HEAD_BYTES;
		uint64_t words[2];

		if (chunk == mapping)
			continue;
		if (chunk - mapping < HEAP_CHUNK_MIN)
			chunk += alignment;
		if (chunk - mapping >= bytes - HEAP_CHUNK_MIN)
			break;
		if (memory_read(&walker->request->memory, chunk, words, sizeof(words)) &&
		    words[0] == chunk - mapping && words[1] == ((bytes - words[0]) | HEAP_MAPPED))
			return chunk;
	}
	return mapping;
}

static void take(struct heap_walker *walker, uint64_t mapping, uint64_t bytes)
{
	const uint64_t chunk = aligned_at(walker, mapping, bytes);
	const struct heap_block block = {
		.address = chunk + HEAP_HEAD_BYTES,
		.usable_bytes = mapping + bytes - chunk - HEAP_HEAD_BYTES,
		.is_mapped = true,
	};

	walker->failed |= !heap_blocks_push(&walker->heap->blocks, block);
	walker->heap->mapped_count++;
	walker->heap->mapped_bytes += bytes;
}

static bool has_all(const struct heap *heap)
{
	return heap->is_expected && heap->mapped_count == heap->expected_count &&
	       heap->mapped_bytes == heap->expected_bytes;
}

static void look_into(struct heap_walker *walker, const struct maps_entry *entry, uint64_t *gaps)
{
	uint64_t at = entry->begin;

	while (at < entry->end && *gaps < GAP_PAGES_MAX && !walker->failed &&
	       !has_all(walker->heap)) {
		const uint64_t bytes = mapping_at(walker, at, entry->end);

		if (bytes)
			take(walker, at, bytes);
		*gaps += bytes == 0;
		at += bytes ? bytes : HEAP_PAGE;
	}
}

static bool is_region(const struct heap *heap, const struct maps_entry *entry)
{
	for (size_t i = 0; i < heap->regions.count; i++)
		if (heap->regions.items[i].begin < entry->end &&
		    heap->regions.items[i].end > entry->begin)
			return true;
	return false;
}

static bool is_own(const struct heap *heap, const struct maps_entry *entry)
{
	return entry->is_readable && entry->is_writable && !entry->is_file && !entry->is_shared &&
	       !entry->is_undumped && entry->begin % HEAP_PAGE == 0 && !is_region(heap, entry);
}

void heap_mapped_find(struct heap_walker *walker)
{
	const struct maps *maps = walker->request->maps;
	uint64_t gaps = 0;

	if (!walker->heap->is_expected && walker->heap->regions.count > 0)
		heap_count_find(walker, walker->heap->regions.items[0].begin);
	for (size_t i = 0; i < maps->entries.count; i++)
		if (is_own(walker->heap, &maps->entries.items[i]))
			look_into(walker, &maps->entries.items[i], &gaps);
}
