#include "model/mapped.h"

#include "core/core.h"

void mapped_deinit(struct mapped *mapped)
{
	mapped_ranges_deinit(&mapped->ranges);
}

static uint64_t end_of(uint64_t begin, uint64_t bytes)
{
	return bytes > UINT64_MAX - begin ? UINT64_MAX : begin + bytes;
}

/* The first range that ends after this address. */
static size_t first_after(const struct mapped_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (ranges->items[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static bool insert(struct mapped_ranges *ranges, size_t at, struct mapped_range range)
{
	if (!mapped_ranges_add(ranges))
		return false;
	memmove(&ranges->items[at + 1], &ranges->items[at],
		(ranges->count - 1 - at) * sizeof(range));
	ranges->items[at] = range;
	return true;
}

bool mapped_add(struct mapped *mapped, uint64_t begin, uint64_t bytes)
{
	const struct mapped_range range = { begin, end_of(begin, bytes) };

	return range.begin == range.end ||
	       insert(&mapped->ranges, first_after(&mapped->ranges, begin), range);
}

bool mapped_remove(struct mapped *mapped, uint64_t begin, uint64_t bytes, uint64_t *removed_ret)
{
	struct mapped_ranges *ranges = &mapped->ranges;
	const uint64_t end = end_of(begin, bytes);
	const size_t first = first_after(ranges, begin);
	size_t keep = first;
	size_t at = first;

	*removed_ret = 0;
	if (begin == end || ranges->count == 0)
		return true;
	if (at < ranges->count && ranges->items[at].begin < begin && ranges->items[at].end > end) {
		const struct mapped_range right = { end, ranges->items[at].end };

		ranges->items[at].end = begin;
		*removed_ret = end - begin;
		return insert(ranges, at + 1, right);
	}
	for (; at < ranges->count && ranges->items[at].begin < end; at++) {
		struct mapped_range *range = &ranges->items[at];

		*removed_ret += u64_min(range->end, end) - u64_max(range->begin, begin);
		if (range->begin < begin)
			ranges->items[keep++] = (struct mapped_range) { range->begin, begin };
		else if (range->end > end)
			ranges->items[keep++] = (struct mapped_range) { end, range->end };
	}
	memmove(&ranges->items[keep], &ranges->items[at],
		(ranges->count - at) * sizeof(*ranges->items));
	ranges->count -= at - keep;
	return true;
}
