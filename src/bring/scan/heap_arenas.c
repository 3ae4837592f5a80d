#include "scan/heap_parts.h"

enum { DATA_BYTES_MAX = 64 << 20, BINS_BROKEN_MAX = 8, ARENAS_MAX = 1 << 14 };

/* Writable data, and for each word whether it begins a bin. */
struct data {
	uint64_t begin;
	size_t count; /* words */
	uint64_t *words;
	uint8_t *is_bin;
};

static void data_deinit(struct data *data)
{
	free(data->words);
	free(data->is_bin);
}
CLEAN_DEFINE_DEINIT(data_deinit, struct data);

/* A bin's head is taken for a chunk of which its two words are the links. */
static bool is_bin(const struct heap_walker *walker, const struct data *data, size_t at)
{
	const uint64_t forward = data->words[at], back = data->words[at + 1];
	const uint64_t self = data->begin + at * HEAP_WORD - HEAP_HEAD_BYTES;
	uint64_t of_forward, of_back;

	if (forward == self && back == self)
		return true;
	if (forward == 0 || back == 0 || ((forward | back) & (HEAP_UNIT - 1)) || forward == self ||
	    back == self || !maps_find(walker->request->maps, forward) ||
	    !maps_find(walker->request->maps, back))
		return false;
	return heap_word(walker, forward + 3 * HEAP_WORD, &of_forward) && of_forward == self &&
	       heap_word(walker, back + 2 * HEAP_WORD, &of_back) && of_back == self;
}

/* False: it cannot be read. */
static bool data_read(struct heap_walker *walker, const struct heap_range *range, struct data *data)
{
	const uint64_t begin = align_up(range->begin, HEAP_UNIT);

	if (begin >= range->end || range->end - begin > DATA_BYTES_MAX)
		return false;
	*data = (struct data) { .begin = begin, .count = (range->end - begin) / HEAP_WORD };
	data->words = calloc(data->count + 1, sizeof(*data->words));
	data->is_bin = calloc(data->count + 1, 1);
	walker->failed |= !data->words || !data->is_bin;
	if (walker->failed || data->count < 2 * HEAP_BIN_COUNT)
		return false;
	/* What cannot be read is zeros. */
	walker->request->memory.read(walker->request->memory.context, begin, data->words,
				     data->count * HEAP_WORD);
	for (size_t at = 0; at + 1 < data->count; at++)
		data->is_bin[at] = is_bin(walker, data, at);
	return true;
}

static bool has_top(const struct heap_walker *walker, uint64_t bins)
{
	uint64_t top, head;

	return heap_word(walker, bins - HEAP_TOP_BEFORE, &top) && top % HEAP_UNIT == 0 &&
	       heap_word(walker, top + HEAP_WORD, &head) && head & HEAP_PREVIOUS_IN_USE &&
	       heap_size(head) <= UINT64_MAX - top && (top + heap_size(head)) % HEAP_PAGE == 0;
}

/* The address of the bins, the most of which are sound; 0: there are none. */
static uint64_t bins_in(struct heap_walker *walker, const struct data *data, size_t *sound_ret)
{
	uint64_t found = 0;

	for (size_t first = 0; first < 2; first++) {
		size_t sound = 0;

		for (size_t at = first; at + 1 < data->count; at += 2) {
			const size_t begin = at - 2 * (HEAP_BIN_COUNT - 1);

			sound += data->is_bin[at];
			if (at < 2 * (HEAP_BIN_COUNT - 1) + first)
				continue;
			if (sound > *sound_ret && sound >= HEAP_BIN_COUNT - BINS_BROKEN_MAX &&
			    has_top(walker, data->begin + begin * HEAP_WORD)) {
				*sound_ret = sound;
				found = data->begin + begin * HEAP_WORD;
			}
			sound -= data->is_bin[begin];
		}
	}
	return found;
}

static bool arena_read(const struct heap_walker *walker, struct heap_arena *arena)
{
	return heap_word(walker, arena->bins - HEAP_TOP_BEFORE, &arena->top) &&
	       heap_word(walker, arena->bins + HEAP_SYSTEM_BEHIND, &arena->system_bytes) &&
	       arena->top != 0;
}

/*
 * The others are in a ring. Between a struct's beginning and its fastbins are 16 bytes, before
 * glibc 2.27 8. False: the ring does not close.
 */
static bool ring_follow(struct heap_walker *walker, unsigned flag_bytes)
{
	struct heap_arenas *arenas = &walker->arenas;
	const uint64_t bins_offset = flag_bytes + HEAP_FAST_BEFORE;
	const uint64_t main_address = arenas->items[0].bins - bins_offset;
	uint64_t address = main_address;

	while (arenas->count < ARENAS_MAX) {
		const struct heap_arena *last = &arenas->items[arenas->count - 1];
		struct heap_arena arena = { 0 };
		uint64_t owner;

		if (!heap_word(walker, last->bins + HEAP_NEXT_BEHIND, &address))
			return false;
		if (address == main_address)
			return true;
		arena.address = address;
		arena.bins = address + bins_offset;
		if (address % HEAP_WORD ||
		    !heap_word(walker, address & -(uint64_t)HEAP_WINDOW_BYTES, &owner) ||
		    owner != address || !arena_read(walker, &arena))
			return false;
		walker->failed |= !heap_arenas_push(arenas, arena);
		if (walker->failed)
			return false;
	}
	return false;
}

struct err *heap_arenas_find(struct heap_walker *walker)
{
	const struct heap_ranges *ranges = walker->request->data;
	struct heap_arena main = { .is_main = true };
	size_t sound = 0;

	for (size_t i = 0; i < ranges->count && !walker->failed; i++) {
		CLEAN(data_deinit) struct data data = { 0 };
		uint64_t bins;

		if (!data_read(walker, &ranges->items[i], &data))
			continue;
		bins = bins_in(walker, &data, &sound);
		main.bins = bins ? bins : main.bins;
	}
	if (!walker->failed && (main.bins == 0 || !arena_read(walker, &main)))
		return err_new(ERR_NOT_FOUND, "no heap of glibc was found");
	walker->failed |= walker->failed || !heap_arenas_push(&walker->arenas, main);
	if (walker->failed)
		return err_nomem();
	walker->heap->broken_lists += HEAP_BIN_COUNT - sound;
	if (ring_follow(walker, 2 * HEAP_WORD) || walker->failed)
		return walker->failed ? err_nomem() : NULL;
	/* An older one, or one that is broken: then what was found of it stays. */
	const size_t found_count = walker->arenas.count;

	walker->arenas.count = 1;
	if (ring_follow(walker, HEAP_WORD))
		return NULL;
	walker->arenas.count = 1;
	if (found_count > 1)
		ring_follow(walker, 2 * HEAP_WORD);
	walker->heap->broken_lists++;
	return walker->failed ? err_nomem() : NULL;
}
