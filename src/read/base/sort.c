#include "base/sort.h"

#include <assert.h>
#include <stdlib.h>

#include "base/big.h"

enum { RADIX_BITS = 11, RADIX = 1 << RADIX_BITS, PARTED_MIN = 1 << 17 };

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

/* Bits of the key that are sorted by at once, from shift on. */
struct radix_digit {
	unsigned shift, bits;
};

static inline uint64_t radix_key(const struct radix *radix, const uint8_t *item)
{
	uint64_t key;

	memcpy(&key, item + radix->key_offset, sizeof(key));
	return key;
}

/* Bits that are not the same in all keys. */
static inline uint64_t radix_differing(const struct radix *radix, const uint8_t *items)
{
	const uint64_t first = radix_key(radix, items);
	uint64_t differing = 0;

	for (size_t i = 1; i < radix->count; i++)
		differing |= radix_key(radix, items + i * radix->item_bytes) ^ first;
	return differing;
}

/* The bits from the lowest to the highest that differs, in as few digits of like sizes as may be. */
static unsigned radix_digits(uint64_t differing, struct radix_digit *digits)
{
	unsigned count = 0;

	while (differing) {
		const unsigned shift = (unsigned)__builtin_ctzll(differing);
		const unsigned width = 64 - (unsigned)__builtin_clzll(differing) - shift;
		const unsigned passes = (width + RADIX_BITS - 1) / RADIX_BITS;
		const unsigned bits = (width + passes - 1) / passes;

		digits[count++] = (struct radix_digit) { shift, bits };
		differing = shift + bits < 64 ? differing >> (shift + bits) << (shift + bits) : 0;
	}
	return count;
}

static inline void radix_pass(const struct radix *radix, const uint8_t *from, uint8_t *to,
			      const struct radix_digit *digit, size_t *ends)
{
	const uint64_t mask = ((uint64_t)1 << digit->bits) - 1;
	const size_t bytes = radix->item_bytes;
	size_t sum = 0;

	memset(ends, 0, (mask + 1) * sizeof(*ends));
	for (size_t i = 0; i < radix->count; i++)
		ends[radix_key(radix, from + i * bytes) >> digit->shift & mask]++;
	for (size_t i = 0; i <= mask; i++) {
		size_t here = ends[i];

		ends[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < radix->count; i++) {
		const uint8_t *item = from + i * bytes;

		memcpy(to + ends[radix_key(radix, item) >> digit->shift & mask]++ * bytes, item,
		       bytes);
	}
}

/* From the lowest digit to the highest. The result is in items; spare is as large. */
static inline void radix_passes(const struct radix *radix, uint8_t *items, uint8_t *spare,
				uint64_t differing)
{
	size_t ends[RADIX];
	struct radix_digit digits[64];
	const unsigned digit_count = radix_digits(differing, digits);
	uint8_t *from = items, *to = spare;

	for (unsigned i = 0; i < digit_count; i++) {
		uint8_t *swap = from;

		radix_pass(radix, from, to, &digits[i], ends);
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, radix->count * radix->item_bytes);
}

/*
 * What does not fit the caches is first parted by its highest bits, into parts that do: each pass
 * over all of it takes as long as sorting the parts.
 */
static inline void radix_parted(const struct radix *radix, uint8_t *items, uint8_t *spare,
				uint64_t differing)
{
	const unsigned width = 64 - (unsigned)__builtin_clzll(differing);
	const unsigned shift = width > RADIX_BITS ? width - RADIX_BITS : 0;
	const struct radix_digit digit = { shift, width - shift };
	size_t part_ends[RADIX], begin = 0;

	radix_pass(radix, items, spare, &digit, part_ends);
	for (size_t i = 0; i >> digit.bits == 0; i++) {
		const struct radix part = { part_ends[i] - begin, radix->item_bytes,
					    radix->key_offset };
		const size_t at = begin * radix->item_bytes;

		radix_passes(&part, spare + at, items + at,
			     differing & (((uint64_t)1 << shift) - 1));
		memcpy(items + at, spare + at, part.count * radix->item_bytes);
		begin = part_ends[i];
	}
}

/* Inlined for sizes that are known, so that items are copied word by word. */
static inline __attribute__((always_inline)) bool radix_sort(uint8_t *items, struct radix radix)
{
	uint64_t differing;
	uint8_t *spare;

	if (radix.count < 2)
		return true;
	spare = big_calloc(radix.count, radix.item_bytes);
	if (!spare)
		return false;
	differing = radix_differing(&radix, items);
	if (differing && radix.count > PARTED_MIN)
		radix_parted(&radix, items, spare, differing);
	else
		radix_passes(&radix, items, spare, differing);
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
