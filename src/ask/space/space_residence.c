#include "space/space_residence.h"

#include <assert.h>

void space_residence_deinit(struct space_residence *residence)
{
	space_ranges_deinit(&residence->known);
	space_ranges_deinit(&residence->resident);
	space_ranges_deinit(&residence->swapped);
	space_ranges_deinit(&residence->zero);
	*residence = (struct space_residence) { 0 };
}

/* Behind all others; adjacent ones are joined. */
static bool ranges_add(struct space_ranges *ranges, uint64_t begin, uint64_t end)
{
	uint64_t before = 0;

	if (begin >= end)
		return true;
	if (ranges->count > 0) {
		struct space_range *last = &ranges->items[ranges->count - 1];

		assert(begin >= last->end);
		before = last->before + (last->end - last->begin);
		if (last->end == begin) {
			last->end = end;
			return true;
		}
	}
	return space_ranges_push(ranges, (struct space_range) { begin, end, before });
}

static struct space_ranges *ranges_of(struct space_residence *residence, enum mappings_pages kind)
{
	if (kind == MAPPINGS_SWAPPED)
		return &residence->swapped;
	return kind == MAPPINGS_ZERO ? &residence->zero : &residence->resident;
}

static bool extent_add(struct space_residence *residence, const struct mappings_extent *extent)
{
	struct mappings_runs runs = mappings_runs_begin(extent);
	enum mappings_pages kind;
	uint64_t begin, end;

	if (!mappings_extent_is_exact(extent) || !mappings_extent_tells_swap(extent))
		return true;
	if (!ranges_add(&residence->known, extent->begin, extent->end))
		return false;
	if (!extent->runs)
		return extent->rss_bytes == 0 ||
		       ranges_add(&residence->resident, extent->begin, extent->end);
	while (mappings_runs_any(&runs, &kind, &begin, &end))
		if (!ranges_add(ranges_of(residence, kind), begin, end))
			return false;
	return true;
}

struct err *space_residence_find(const struct mappings_image *image,
				 struct space_residence *residence_ret)
{
	CLEAN(space_residence_deinit) struct space_residence own = { 0 };

	for (size_t i = 0; i < image->all.count; i++)
		if (!extent_add(&own, &image->all.items[i]))
			return err_nomem();
	*residence_ret = own;
	own = (struct space_residence) { 0 };
	return NULL;
}

/* The first range that ends behind the address. */
static size_t range_at(const struct space_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (ranges->items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Bytes of the ranges below the address. */
static uint64_t bytes_below(const struct space_ranges *ranges, uint64_t address)
{
	const size_t at = range_at(ranges, address);
	const struct space_range *range;

	if (ranges->count == 0)
		return 0;
	range = &ranges->items[u64_min(at, ranges->count - 1)];
	if (at == ranges->count) /* behind all */
		return range->before + (range->end - range->begin);
	return range->before + (address > range->begin ? address - range->begin : 0);
}

/* Where the last page of these before the end ends, at least begin. */
static uint64_t last_end(const struct space_ranges *ranges, uint64_t begin, uint64_t end)
{
	const size_t at = range_at(ranges, end - 1);

	if (at < ranges->count && ranges->items[at].begin < end)
		return end;
	return at > 0 && ranges->items[at - 1].end > begin ? ranges->items[at - 1].end : begin;
}

static uint64_t bytes_between(const struct space_ranges *ranges, uint64_t begin, uint64_t end)
{
	return bytes_below(ranges, end) - bytes_below(ranges, begin);
}

struct space_resident space_resident_of(const struct space_residence *residence, uint64_t address,
					uint64_t bytes)
{
	struct space_resident found = { 0 };
	uint64_t end, known;

	if (bytes == 0 || address > UINT64_MAX - bytes)
		return (struct space_resident) { .unknown = bytes };
	end = address + bytes;
	known = bytes_between(&residence->known, address, end);
	found.resident = bytes_between(&residence->resident, address, end);
	found.swapped = bytes_between(&residence->swapped, address, end);
	found.zero = bytes_between(&residence->zero, address, end);
	found.untouched = known - found.resident - found.swapped;
	found.unknown = bytes - known;
	if (found.unknown == 0)
		found.tail = end - u64_max(last_end(&residence->resident, address, end),
					   last_end(&residence->swapped, address, end));
	return found;
}
