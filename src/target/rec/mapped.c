#include "rec/mapped.h"

#include <stdatomic.h>

#include "core/poison.h"

enum { RANGES_MAX = 1 << 16 };

struct range {
	uint64_t begin, end; /* end after begin */
};

static struct {
	struct range *ranges; /* by address; NULL: no memory, nothing is known */
	size_t count;
	_Atomic uint64_t lock;
} mapped;

void rec_mapped_init(void)
{
	atomic_store(&mapped.lock, 0);
	mapped.count = 0;
	if (!mapped.ranges)
		mapped.ranges = sys_map_private(RANGES_MAX * sizeof(*mapped.ranges));
}

/* The first that ends after it. */
static size_t range_find(uint64_t address)
{
	size_t low = 0, high = mapped.count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (mapped.ranges[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Replaces `gone` ranges at index by those of `ranges`. False: they do not fit. */
static bool splice(size_t index, size_t gone, const struct range *ranges, size_t count)
{
	if (mapped.count - gone + count > RANGES_MAX)
		return false;
	memmove(mapped.ranges + index + count, mapped.ranges + index + gone,
		(mapped.count - index - gone) * sizeof(*ranges));
	for (size_t i = 0; i < count; i++)
		mapped.ranges[index + i] = ranges[i];
	mapped.count += count - gone;
	return true;
}

static uint64_t range_remove(uint64_t begin, uint64_t end)
{
	const size_t first = range_find(begin);
	struct range rest[2];
	size_t rest_count = 0, last = first;
	uint64_t bytes = 0;

	for (; last < mapped.count && mapped.ranges[last].begin < end; last++) {
		const struct range range = mapped.ranges[last];

		bytes += u64_min(range.end, end) - u64_max(range.begin, begin);
		if (range.begin < begin)
			rest[rest_count++] = (struct range) { range.begin, begin };
		if (range.end > end)
			rest[rest_count++] = (struct range) { end, range.end };
	}
	return splice(first, last - first, rest, rest_count) ? bytes : 0;
}

static uint64_t range_end(uint64_t begin, uint64_t bytes)
{
	return bytes > UINT64_MAX - begin ? UINT64_MAX : begin + bytes;
}

static int64_t change(uint64_t removed_begin, uint64_t removed_end, uint64_t added_begin,
		      uint64_t added_end)
{
	const struct range added = { added_begin, added_end };
	int64_t bytes = 0;

	if (removed_begin < removed_end)
		bytes -= (int64_t)range_remove(removed_begin, removed_end);
	if (added_begin >= added_end)
		return bytes;
	bytes -= (int64_t)range_remove(added_begin, added_end); /* MAP_FIXED */
	if (splice(range_find(added_begin), 0, &added, 1))
		bytes += (int64_t)(added_end - added_begin);
	return bytes;
}

int64_t rec_mapped_change(uint64_t removed_begin, uint64_t removed_bytes, uint64_t added_begin,
			  uint64_t added_bytes)
{
	struct sys_signals mask;
	int64_t bytes = 0;

	if (!mapped.ranges)
		return 0;
	sys_signals_block_all(&mask);
	if (rec_lock(&mapped.lock)) {
		bytes = change(removed_begin, range_end(removed_begin, removed_bytes), added_begin,
			       range_end(added_begin, added_bytes));
		rec_unlock(&mapped.lock);
	}
	sys_signals_restore(&mask);
	return bytes;
}
