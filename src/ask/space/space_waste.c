#include "space/space_waste.h"

#include <assert.h>

#include "space/space_blocks.h"

/* Number of blocks on each partial page, and whether the page is resident. */
struct page_table {
	struct map by_chunk; /* chunk number -> index in chunks */
	uint16_t **counts;   /* by chunk: blocks of each page */
	uint8_t **states;    /* by chunk: enum page_state of each page */
	size_t count, capacity;
};

enum page_state { PAGE_NOT_HEAP = 0, PAGE_ABSENT = 1, PAGE_RESIDENT = 2 };

struct page_place {
	uint16_t *count;
	uint8_t *state;
};

static void page_table_deinit(struct page_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		free(table->counts[i]);
		free(table->states[i]);
	}
	free(table->counts);
	free(table->states);
	map_deinit(&table->by_chunk);
}

static bool page_table_grow(struct page_table *table)
{
	void *counts = table->counts, *states = table->states;
	size_t state_capacity = table->capacity;
	bool ok = vec_grow(&counts, &table->capacity, table->count + 1, sizeof(*table->counts));

	table->counts = counts;
	if (ok)
		ok = vec_grow(&states, &state_capacity, table->capacity, sizeof(*table->states));
	table->states = states;
	return ok;
}

static bool page_table_place(struct page_table *table, uint64_t address, bool makes,
			     struct page_place *place_ret)
{
	const uint64_t number = address >> SPACE_CHUNK_SHIFT;
	const size_t page = address >> SPACE_PAGE_SHIFT & (SPACE_CHUNK_PAGES - 1);
	uint64_t *index = map_find(&table->by_chunk, number);

	if (!index && makes) {
		const size_t at = table->count;

		if (!page_table_grow(table))
			return false;
		table->counts[at] = calloc(SPACE_CHUNK_PAGES, sizeof(**table->counts));
		table->states[at] = calloc(SPACE_CHUNK_PAGES, sizeof(**table->states));
		table->count++;
		if (!table->counts[at] || !table->states[at])
			return false;
		index = map_put(&table->by_chunk, number, NULL);
		if (index)
			*index = at;
	}
	if (!index)
		return false;
	*place_ret =
		(struct page_place) { &table->counts[*index][page], &table->states[*index][page] };
	return true;
}

struct finding {
	const struct model *model;
	struct space *space;
	struct space_waste *waste;
	struct page_table table;
	struct vec_u64 numbers; /* chunk numbers, see space_pages_numbers */
	struct model_stack_sums *stacks;
	bool failed; /* out of memory while visiting blocks */
};

/* --- what regions are for ------------------------------------------------------------------ */

/* Of glibc on 64 bits. A single block has its mapping up to the page's end, and a header before. */
static const uint64_t ARENA_ALIGN = UINT64_C(64) << 20;
enum { SINGLE_BYTES_MIN = 64 << 10, SINGLE_REST_PAGES = 2 };

const char *const space_use_words[] = { "main heap", "thread arena", "mapped arena", "single block",
					NULL };

enum space_use space_region_use(const struct space_region *region)
{
	const uint64_t bytes = region->end - region->begin;
	const uint64_t count = region->block_count;

	assert(region->end >= region->begin);
	if (region->kind == MAPPING_HEAP)
		return SPACE_MAIN_HEAP;
	if (count > 0 && bytes / count >= SINGLE_BYTES_MIN &&
	    bytes - u64_min(region->live, bytes) <= count * SINGLE_REST_PAGES * SPACE_PAGE)
		return SPACE_SINGLE_BLOCK;
	return region->begin % ARENA_ALIGN == 0 ? SPACE_THREAD_ARENA : SPACE_MAPPED_ARENA;
}

/* NULL: in none. */
static struct space_region *region_of(struct space_waste *waste, uint64_t address)
{
	size_t low = 0, high = waste->regions.count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (waste->regions.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < waste->regions.count && waste->regions.items[low].begin <= address
		       ? &waste->regions.items[low]
		       : NULL;
}

/* --- regions ------------------------------------------------------------------------------- */

/* Iterates over the pages of a region. */
struct region_walk {
	struct finding *finding;
	struct space_region *region;
	uint64_t free_run; /* bytes since the last live byte */
	uint64_t taken;	   /* resident pages so far */
};

static void take_resident(struct finding *finding, struct space_region *region, unsigned live,
			  uint64_t pages)
{
	struct space_waste *waste = finding->waste;

	waste->fills[live * SPACE_FILLS / SPACE_PAGE] += pages;
	waste->live_resident += live * pages;
	if (live == 0) {
		waste->free_pages += pages;
		region->free_pages += pages;
		region->tail_free += pages * SPACE_PAGE;
	} else if (live == SPACE_PAGE) {
		waste->full_pages += pages;
	} else {
		waste->partial_pages += pages;
		waste->wasted += (SPACE_PAGE - live) * pages;
	}
}

/* Adds pages from `at` on with the same number of live bytes. */
static bool take_alike(struct region_walk *walk, uint64_t at, uint64_t pages, unsigned live,
		       bool is_resident)
{
	struct space_region *region = walk->region;
	struct page_place place;

	walk->free_run = live ? 0 : walk->free_run + pages * SPACE_PAGE;
	region->largest_free = u64_max(region->largest_free, walk->free_run);
	region->live += live * pages;
	if (live)
		region->tail_free = 0;
	if (is_resident)
		take_resident(walk->finding, region, live, pages);
	if (live == 0 || live == SPACE_PAGE)
		return true;
	if (!page_table_place(&walk->finding->table, at, true, &place))
		return false;
	*place.state = is_resident ? PAGE_RESIDENT : PAGE_ABSENT;
	return true;
}

enum residence { RESIDENT, ABSENT, RESIDENT_IF_LIVE };

static bool take_pages(struct region_walk *walk, uint64_t begin, uint64_t end,
		       enum residence residence)
{
	const struct space_pages *pages = space_pages(walk->finding->space);

	while (begin < end) {
		unsigned live;
		uint64_t stop =
			space_pages_stretch(pages, &walk->finding->numbers, begin, end, &live);
		bool is_resident;

		if (stop == begin) {
			live = space_pages_at(pages, begin);
			stop = begin + SPACE_PAGE;
		}
		is_resident = residence == RESIDENT || (residence == RESIDENT_IF_LIVE && live > 0);
		if (!take_alike(walk, begin, (stop - begin) >> SPACE_PAGE_SHIFT, live, is_resident))
			return false;
		walk->taken += is_resident ? (stop - begin) >> SPACE_PAGE_SHIFT : 0;
		begin = stop;
	}
	return true;
}

/*
 * Resident pages are not known: pages with live bytes count as resident, and the remaining resident
 * bytes as free pages at unknown positions.
 */
static bool take_unknown(struct region_walk *walk, const struct space_part *part)
{
	const uint64_t resident = part->resident >> SPACE_PAGE_SHIFT;
	struct space_waste *waste = walk->finding->waste;

	walk->taken = 0;
	if (!take_pages(walk, part->begin, part->end,
			part->resident > 0 ? RESIDENT_IF_LIVE : ABSENT))
		return false;
	if (resident > walk->taken) {
		waste->free_pages += resident - walk->taken;
		waste->fills[0] += resident - walk->taken;
		walk->region->free_pages += resident - walk->taken;
	}
	return true;
}

/* The part's pages, with residency if the kernel listed it; else all are resident, or none. */
static bool take_part(struct region_walk *walk, const struct mappings_extent *extent,
		      const struct space_part *part)
{
	struct mappings_runs runs = mappings_runs_begin(extent);
	uint64_t begin, end, at = part->begin;

	if (!part->is_exact)
		return take_unknown(walk, part);
	if (!extent->runs)
		return take_pages(walk, part->begin, part->end,
				  extent->rss_bytes > 0 ? RESIDENT : ABSENT);
	while (mappings_runs_next(&runs, &begin, &end)) {
		begin = u64_min(u64_max(begin, at), part->end);
		end = u64_min(u64_max(end, at), part->end);
		if (!take_pages(walk, at, begin, ABSENT) || !take_pages(walk, begin, end, RESIDENT))
			return false;
		at = end;
	}
	return take_pages(walk, at, part->end, ABSENT);
}

static struct space_region *region_put(struct space_waste *waste, const struct space_part *part)
{
	struct space_region_vec *regions = &waste->regions;
	struct space_region *last = regions->count ? &regions->items[regions->count - 1] : NULL;

	if (last && last->end == part->begin && last->mapping == part->mapping) {
		last->end = part->end;
		return last;
	}
	last = space_region_vec_add(regions);
	if (last)
		*last = (struct space_region) { .begin = part->begin,
						.end = part->end,
						.mapping = part->mapping,
						.kind = part->kind };
	return last;
}

static const struct mappings_extent *extent_of(const struct space *space, size_t *at,
					       uint64_t address)
{
	const struct mappings_extent_vec *all = &mappings_image(space_mappings(space))->all;

	while (all->items[*at].end <= address)
		(*at)++;
	return &all->items[*at];
}

static bool find_regions(struct finding *finding)
{
	struct space_parts parts = space_parts_begin(finding->space);
	struct region_walk walk = { .finding = finding };
	struct space_part part;
	size_t extent = 0;

	while (space_parts_next(&parts, &part)) {
		const size_t count = finding->waste->regions.count;

		if (part.kind != MAPPING_HEAP && part.kind != MAPPING_BLOCKS)
			continue;
		walk.region = region_put(finding->waste, &part);
		if (finding->waste->regions.count > count)
			walk.free_run = 0;
		if (!walk.region ||
		    !take_part(&walk, extent_of(finding->space, &extent, part.begin), &part))
			return false;
		walk.region->resident += part.resident;
		finding->waste->resident += part.resident;
		finding->waste->is_exact &= part.is_exact;
	}
	for (size_t i = 0; i < finding->waste->regions.count; i++)
		finding->waste->tail_pages +=
			finding->waste->regions.items[i].tail_free >> SPACE_PAGE_SHIFT;
	return true;
}

/* Without snapshots: every page with a live byte is heap, and counts as resident. */
static bool find_pages_alone(struct finding *finding)
{
	struct space_region region = { 0 };
	struct region_walk walk = { .finding = finding, .region = &region };

	for (size_t i = 0; i < finding->numbers.count; i++) {
		const uint64_t begin = finding->numbers.items[i] << SPACE_CHUNK_SHIFT;

		if (!take_pages(&walk, begin, begin + (UINT64_C(1) << SPACE_CHUNK_SHIFT),
				RESIDENT_IF_LIVE))
			return false;
	}
	finding->waste->is_exact = false;
	finding->waste->resident = (finding->waste->full_pages + finding->waste->partial_pages)
				   << SPACE_PAGE_SHIFT;
	return true;
}

/* --- blocks -------------------------------------------------------------------------------- */

/* Only its first and last page can be partial; those between are full. */
static size_t block_pages(const struct finding *finding, const struct space_block *block,
			  struct page_place places[2], uint64_t addresses[2])
{
	const uint64_t first = block->address & ~(uint64_t)(SPACE_PAGE - 1);
	const uint64_t last = (block->address + block->usable - 1) & ~(uint64_t)(SPACE_PAGE - 1);
	struct page_table *table = (struct page_table *)&finding->table;
	size_t count = 0;

	if (block->usable == 0 || block->address + block->usable < block->address)
		return 0;
	addresses[0] = first;
	count += page_table_place(table, first, false, &places[0]) &&
		 *places[0].state == PAGE_RESIDENT;
	addresses[count] = last;
	count += last != first && page_table_place(table, last, false, &places[count]) &&
		 *places[count].state == PAGE_RESIDENT;
	return count;
}

static void count_block(void *context, const struct space_block *block)
{
	struct finding *finding = context;
	struct space_region *region = region_of(finding->waste, block->address);
	struct page_place places[2];
	uint64_t addresses[2];
	const size_t count = block_pages(finding, block, places, addresses);

	for (size_t i = 0; i < count; i++)
		if (*places[i].count < UINT16_MAX)
			(*places[i].count)++;
	if (region)
		region->block_count++;
}

static unsigned size_class(uint64_t bytes)
{
	return bytes == 0 ? 0 : 64 - (unsigned)__builtin_clzll(bytes);
}

static void charge_block(void *context, const struct space_block *block)
{
	struct finding *finding = context;
	struct model_stack_sums *sums = &finding->stacks[block->stack];
	struct space_class *class = &finding->waste->classes[size_class(block->bytes)];
	const uint64_t slack = block->usable - block->bytes;
	struct page_place places[2];
	uint64_t addresses[2];
	const size_t count = block_pages(finding, block, places, addresses);

	sums->allocated.count++;
	sums->allocated.bytes += block->bytes;
	sums->temporary.count += slack;
	sums->temporary.bytes += slack;
	class->count++;
	class->bytes += block->bytes;
	class->slack += slack;
	sums->peak.count += count > 0;
	finding->waste->partial_blocks += count > 0;
	for (size_t i = 0; i < count; i++) {
		const uint64_t wasted =
			SPACE_PAGE - space_pages_at(space_pages(finding->space), addresses[i]);

		sums->peak.bytes += wasted / *places[i].count;
		if (*places[i].count > 1)
			continue;
		sums->leaked.count++;
		sums->leaked.bytes += wasted;
		finding->waste->pinned_pages++;
		finding->waste->pinned_bytes += wasted;
		finding->failed |= !vec_u64_push(&finding->waste->pinned, addresses[i]);
	}
}

/* --- all of it ----------------------------------------------------------------------------- */

void space_waste_deinit(struct space_waste *waste)
{
	space_region_vec_deinit(&waste->regions);
	vec_u64_deinit(&waste->pinned);
}

static size_t nearest_snapshot(const struct mappings_snapshot_vec *snapshots, uint64_t ns)
{
	size_t best = SIZE_MAX;
	uint64_t best_ns = UINT64_MAX;

	for (size_t i = 0; i < snapshots->count; i++) {
		const uint64_t at = snapshots->items[i].end_ns;
		const uint64_t distance = at > ns ? at - ns : ns - at;

		if (distance < best_ns) {
			best_ns = distance;
			best = i;
		}
	}
	return best;
}

static struct err *move_space(struct space *space, uint64_t ns, struct space_waste *waste)
{
	const struct mappings_snapshot_vec *snapshots = mappings_snapshots(space_mappings(space));
	const size_t best = nearest_snapshot(snapshots, ns);
	const struct mappings_snapshot *snapshot;
	struct err *err = NULL;

	waste->snapshot = best;
	waste->ns = ns;
	waste->before_ns = ns + (ns < UINT64_MAX - 1); /* events at that time are included */
	if (best == SIZE_MAX)
		return space_advance(space, waste->before_ns);
	snapshot = &snapshots->items[best];
	waste->ns = waste->before_ns = space_snapshot_ns(snapshot);
	for (size_t i = 0; i < best && !err; i++)
		err = space_pass_snapshot(space, i);
	return err ? err : space_advance_snapshot(space, best);
}

static void total_up(struct finding *finding)
{
	struct sums *sums = &finding->waste->sums;

	sums->model = finding->model;
	sums->stacks = sums_by_id(finding->model, finding->stacks);
	for (size_t i = 0; i < model_stack_count(finding->model); i++)
		metric_sums_add(&sums->total, &finding->stacks[i]);
}

struct err *space_waste_find(const struct model *model, struct space *space, uint64_t ns,
			     struct arena *arena, struct space_waste *waste_ret)
{
	CLEAN(space_waste_deinit) struct space_waste waste = { .is_exact = true };
	struct finding finding = { .model = model, .space = space, .waste = &waste };
	struct err *err = move_space(space, ns, &waste);
	bool ok;

	assert(model && space);
	if (err)
		return err;
	waste.live = space_live(space);
	finding.stacks = arena_array(arena, model_stack_count(model), sizeof(*finding.stacks));
	ok = finding.stacks && space_pages_numbers(space_pages(space), &finding.numbers) &&
	     (waste.snapshot == SIZE_MAX ? find_pages_alone(&finding) : find_regions(&finding));
	ok = ok && space_blocks_each(model, waste.before_ns, MODEL_SIZE, count_block, &finding) &&
	     space_blocks_each(model, waste.before_ns, MODEL_SIZE, charge_block, &finding) &&
	     !finding.failed;
	page_table_deinit(&finding.table);
	vec_u64_deinit(&finding.numbers);
	if (!ok)
		return err_nomem();
	total_up(&finding);
	*waste_ret = waste;
	waste.regions = (struct space_region_vec) { 0 };
	waste.pinned = (struct vec_u64) { 0 };
	return NULL;
}
