#include "symbol/ranges.h"

#include <assert.h>

static int range_compare(const void *a, const void *b)
{
	const struct range *left = a;
	const struct range *right = b;

	if (left->low != right->low)
		return left->low < right->low ? -1 : 1;
	return (left->high < right->high) - (left->high > right->high);
}

void ranges_sort(struct ranges *ranges)
{
	if (ranges->count > 0)
		qsort(ranges->items, ranges->count, sizeof(*ranges->items), range_compare);
}

const struct range *ranges_find(const struct ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	assert(ranges->items || ranges->count == 0);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->items[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t tries = 0; low > 0 && tries < 64; low--, tries++) {
		if (address < ranges->items[low - 1].high)
			return &ranges->items[low - 1];
	}
	return NULL;
}
