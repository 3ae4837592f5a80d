#include "base/sort.h"

#include <assert.h>
#include <stdlib.h>

enum { RADIX_BITS = 8, RADIX = 1 << RADIX_BITS };

struct merge {
	size_t item_bytes;
	int (*compare)(const void *context, const void *a, const void *b);
	const void *context;
};

static void merge_runs(const struct merge *merge, const uint8_t *from, uint8_t *to,
		       size_t left_count, size_t right_count)
{
	const uint8_t *left = from, *left_end = from + left_count * merge->item_bytes;
	const uint8_t *right = left_end, *right_end = right + right_count * merge->item_bytes;

	while (left < left_end && right < right_end) {
		const uint8_t **least =
			merge->compare(merge->context, left, right) <= 0 ? &left : &right;

		memcpy(to, *least, merge->item_bytes);
		*least += merge->item_bytes;
		to += merge->item_bytes;
	}
	memcpy(to, left, (size_t)(left_end - left));
	memcpy(to + (left_end - left), right, (size_t)(right_end - right));
}

bool sort_stable(void *items, size_t count, size_t item_bytes,
		 int (*compare)(const void *context, const void *a, const void *b),
		 const void *context)
{
	const struct merge merge = { item_bytes, compare, context };
	uint8_t *from = items, *to;
	uint8_t *spare;

	assert(item_bytes > 0);
	assert(items || count == 0);
	if (count < 2)
		return true;
	spare = to = calloc(count, item_bytes);
	if (!spare)
		return false;
	for (size_t run = 1; run < count; run *= 2) {
		for (size_t i = 0; i < count; i += 2 * run) {
			size_t left = u64_min(run, count - i);
			size_t right = u64_min(run, count - i - left);

			merge_runs(&merge, from + i * item_bytes, to + i * item_bytes, left, right);
		}
		uint8_t *swap = from;

		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, count * item_bytes);
	free(spare);
	return true;
}

/* Items in memory of either array, and where each has its key. */
struct radix {
	size_t count, item_bytes, key_offset;
};

static inline uint8_t radix_byte(const struct radix *radix, const uint8_t *item, unsigned shift)
{
	uint64_t key;

	memcpy(&key, item + radix->key_offset, sizeof(key));
	return (uint8_t)(key >> shift);
}

/* One pass over one byte of the key; false when all have the same byte and nothing was moved. */
static inline bool radix_pass(const struct radix *radix, const uint8_t *from, uint8_t *to,
			      unsigned shift)
{
	const size_t bytes = radix->item_bytes;
	size_t begin[RADIX] = { 0 };
	size_t sum = 0;

	for (size_t i = 0; i < radix->count; i++)
		begin[radix_byte(radix, from + i * bytes, shift)]++;
	if (begin[radix_byte(radix, from, shift)] == radix->count)
		return false;
	for (size_t i = 0; i < RADIX; i++) {
		size_t here = begin[i];

		begin[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < radix->count; i++) {
		const uint8_t *item = from + i * bytes;

		memcpy(to + begin[radix_byte(radix, item, shift)]++ * bytes, item, bytes);
	}
	return true;
}

/* Inlined for sizes that are known, so that items are copied word by word. */
static inline __attribute__((always_inline)) bool radix_sort(uint8_t *items, struct radix radix)
{
	uint8_t *spare, *from = items, *to;

	if (radix.count < 2)
		return true;
	spare = to = malloc(radix.count * radix.item_bytes);
	if (!spare)
		return false;
	for (unsigned shift = 0; shift < 64; shift += RADIX_BITS) {
		if (radix_pass(&radix, from, to, shift)) {
			uint8_t *swap = from;

			from = to;
			to = swap;
		}
	}
	if (from != items)
		memcpy(items, from, radix.count * radix.item_bytes);
	free(spare);
	return true;
}

bool sort_pairs(struct sort_pair *pairs, size_t count)
{
	assert(pairs || count == 0);
	return radix_sort((uint8_t *)pairs, (struct radix) { count, sizeof(*pairs),
							     offsetof(struct sort_pair, key) });
}

bool sort_by_u64(void *items, size_t count, size_t item_bytes, size_t key_offset)
{
	assert(items || count == 0);
	assert(key_offset + sizeof(uint64_t) <= item_bytes);
	if (item_bytes == 16)
		return radix_sort(items, (struct radix) { count, 16, key_offset });
	if (item_bytes == 32)
		return radix_sort(items, (struct radix) { count, 32, key_offset });
	return radix_sort(items, (struct radix) { count, item_bytes, key_offset });
}
