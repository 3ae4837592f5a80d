#include "space/space_cells.h"

#include <assert.h>

uint64_t space_cell_bytes(uint64_t bytes, uint64_t most)
{
	uint64_t cell_bytes = SPACE_PAGE;

	while (cell_bytes < UINT64_MAX / 4 && div_up(bytes, cell_bytes) > u64_max(most, 1))
		cell_bytes *= 2;
	assert(cell_bytes >= SPACE_PAGE && (cell_bytes & (cell_bytes - 1)) == 0);
	return cell_bytes;
}

void space_cells_fill(const struct space *space, uint64_t begin, uint64_t end, uint64_t cell_bytes,
		      struct space_cell *cells)
{
	const struct mappings_extent_vec *extents = &mappings_image(space_mappings(space))->all;
	size_t extent = 0;

	assert(begin <= end);
	assert(cell_bytes > 0);
	for (uint64_t at = begin; at < end; at += u64_min(cell_bytes, end - at), cells++) {
		const uint64_t stop = at + u64_min(cell_bytes, end - at);

		*cells = (struct space_cell) { .live = space_pages_sum(space_pages(space), at,
								       stop) };
		while (extent < extents->count && extents->items[extent].end <= at)
			extent++;
		for (size_t i = extent; i < extents->count && extents->items[i].begin < stop; i++)
			cells->resident += mappings_extent_resident(&extents->items[i], at, stop);
	}
}
