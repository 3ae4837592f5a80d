#include "questions/address_space.h"

#include "questions/most_free.h"
#include "questions/questions.h"

enum { REGION_CELLS = 4096 };

static const struct member region_members[] = {
	MEMBER_AS("begin", struct heap_region, region.begin, ADDRESS, NULL),
	MEMBER_AS("end", struct heap_region, region.end, ADDRESS, NULL),
	MEMBER(struct heap_region, kind, TEXT, "of mapping"),
	MEMBER(struct heap_region, use, TEXT, "what the allocator uses it for",
	       .words = space_use_words),
	MEMBER(struct heap_region, name, TEXT, NULL),
	MEMBER_AS("resident_bytes", struct heap_region, region.resident, BYTES, NULL),
	MEMBER_AS("live_bytes", struct heap_region, region.live, BYTES, "of live blocks"),
	MEMBER_AS("live_count", struct heap_region, region.block_count, COUNT,
		  "live blocks that begin in it"),
	MEMBER_AS("free_pages", struct heap_region, region.free_pages, COUNT,
		  "resident, without a live byte"),
	MEMBER_AS("longest_free_bytes", struct heap_region, region.largest_free, BYTES,
		  "the longest run of pages without a live byte"),
	MEMBER_AS("tail_free_bytes", struct heap_region, region.tail_free, BYTES,
		  "resident behind the last live block"),
	MEMBER(struct heap_region, cell_bytes, BYTES, "how much a cell stands for"),
	MEMBER(struct heap_region, live, NUMBERS, "bytes of live blocks, by cell"),
	MEMBER(struct heap_region, resident, NUMBERS, "resident bytes, by cell"),
};
static const struct shape shape_region = SHAPE("HeapRegion", struct heap_region, region_members);

static const struct member extent_members[] = {
	MEMBER_AS("begin", struct extent, part.begin, ADDRESS, NULL),
	MEMBER_AS("end", struct extent, part.end, ADDRESS, NULL),
	MEMBER(struct extent, kind, TEXT, "of mapping"),
	MEMBER(struct extent, name, TEXT, NULL),
	MEMBER_AS("resident_bytes", struct extent, part.resident, BYTES, NULL),
	MEMBER_AS("live_bytes", struct extent, part.live, BYTES, "of live blocks"),
	MEMBER_AS("live_resident_bytes", struct extent, part.live_resident, BYTES,
		  "of these, resident"),
	MEMBER_AS("pages_known", struct extent, part.is_exact, FLAG,
		  "which pages are resident is known"),
};
static const struct shape shape_extent = SHAPE("Extent", struct extent, extent_members);

static const struct member space_members[] = {
	MEMBER(struct space_answer, at_ns, NS, "the moment"),
	MEMBER(struct space_answer, has_snapshot, FLAG,
	       "false: the tape has no snapshot of the address space"),
	MEMBER(struct space_answer, regions, ROWS, "of the heap", .shape = &shape_region),
	MEMBER(struct space_answer, extents, ROWS, "everything that is mapped",
	       .shape = &shape_extent, .is_table = true),
	MEMBER(struct space_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_space = SHAPE("Space", struct space_answer, space_members);

/* "": no name. NULL: out of memory. */
static const char *name_of(const struct asked *asked, const struct space *space, uint32_t mapping)
{
	const struct mapping_vec *all = mappings_all(space_mappings(space));

	return arena_strdup(asked->arena, mapping < all->count ? all->items[mapping].name : "");
}

/* Cell size for about the requested number of cells. */
static uint64_t region_cell_bytes(const struct space_region *region, uint64_t all_cell_bytes)
{
	return all_cell_bytes ? all_cell_bytes
			      : space_cell_bytes(region->end - region->begin, REGION_CELLS);
}

static struct err *cells_fill(const struct asked *asked, struct space *space,
			      struct heap_region *row)
{
	const struct space_region *region = &row->region;
	const uint64_t count = div_up(region->end - region->begin, row->cell_bytes);
	CLEAN(free) struct space_cell *cells = calloc(count + 1, sizeof(*cells));
	uint64_t *live = arena_array(asked->arena, count + 1, sizeof(*live));
	uint64_t *resident = arena_array(asked->arena, count + 1, sizeof(*resident));

	if (!cells || !live || !resident)
		return err_nomem();
	space_cells_fill(space, region->begin, region->end, row->cell_bytes, cells);
	for (uint64_t i = 0; i < count; i++) {
		live[i] = cells[i].live;
		resident[i] = cells[i].resident;
	}
	row->live = (struct shape_numbers) { live, count };
	row->resident = (struct shape_numbers) { resident, count };
	return NULL;
}

static struct err *regions_fill(const struct asked *asked, struct space *space,
				const struct space_region_vec *regions, struct shape_rows *rows)
{
	struct heap_region *items = arena_array(asked->arena, regions->count + 1, sizeof(*items));
	struct err *err = items ? NULL : err_nomem();
	uint64_t bytes = 0, all_cell_bytes;

	for (size_t i = 0; i < regions->count; i++)
		bytes += regions->items[i].end - regions->items[i].begin;
	all_cell_bytes = asked->with->cells ? space_cell_bytes(bytes, asked->with->cells) : 0;
	for (size_t i = 0; i < regions->count && !err; i++) {
		const struct space_region *region = &regions->items[i];
		const char *name = name_of(asked, space, region->mapping);

		if (!name)
			return err_nomem();
		items[i] = (struct heap_region) {
			.region = *region,
			.kind = mapping_kind_words[region->kind],
			.use = space_use_words[space_region_use(region)],
			.name = name[0] ? name : mapping_kind_words[region->kind],
			.cell_bytes = region_cell_bytes(region, all_cell_bytes),
		};
		err = cells_fill(asked, space, &items[i]);
	}
	*rows = (struct shape_rows) { .items = items, .count = regions->count };
	return err;
}

static struct err *extents_fill(const struct asked *asked, struct space *space,
				struct shape_rows *rows)
{
	struct space_parts parts = space_parts_begin(space);
	struct space_part part;
	struct extent *items;
	size_t count = 0;

	while (space_parts_next(&parts, &part))
		count++;
	items = arena_array(asked->arena, count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	*rows = (struct shape_rows) { .items = items, .count = count };
	parts = space_parts_begin(space);
	for (size_t i = 0; i < count && space_parts_next(&parts, &part); i++)
		items[i] = (struct extent) {
			.part = part,
			.kind = mapping_kind_words[part.kind],
			.name = name_of(asked, space, part.mapping),
		};
	for (size_t i = 0; i < count; i++)
		if (!items[i].name)
			return err_nomem();
	return NULL;
}

static struct err *ask(const struct asked *asked, void *result)
{
	CLEAN(space_destroy) struct space *space = NULL;
	CLEAN(space_waste_deinit) struct space_waste waste = { 0 };
	struct space_answer *answer = result;
	uint64_t ns = 0;
	struct err *err = most_free_or_at(asked, &ns);

	if (!err)
		err = space_create(asked->model, &space);
	if (!err)
		err = space_waste_find(asked->model, space, ns, asked->arena, &waste);
	if (!err)
		err = regions_fill(asked, space, &waste.regions, &answer->regions);
	if (!err)
		err = extents_fill(asked, space, &answer->extents);
	if (err)
		return err;
	answer->at_ns = waste.ns;
	answer->has_snapshot = waste.snapshot != SIZE_MAX;
	return quality_find(asked, &answer->quality);
}

const struct question question_space = {
	.name = "space",
	.summary = "a map of the heap and of the address space",
	.one_process = true,
	.shape = &shape_space,
	.depth = MODEL_FULL,
	.takes = TAKES(at) | TAKES(cells) | TAKES(top),
	.is_patient = true,
	.instead = "--at chooses the moment",
	.ask = ask,
};
