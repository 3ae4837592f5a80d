#include "space/space_paint.h"

#include <assert.h>
#include <string.h>

#include "space/space_blocks.h"
#include "sums/sites.h"

const char *const space_paint_words[] = { "use", "age", "size", "thread", "site", NULL };

/* Lower bounds of classes. Ages in decades: what matters is whether blocks are young or old. */
static const uint64_t ages[] = { 0,	     1000000,	  10000000,    100000000,
				 1000000000, 10000000000, 100000000000 };
static const uint64_t sizes[] = { 0, 33, 257, 2049, 16385, 131073, 1048577 };

struct painter {
	const struct space_waste *waste;
	struct space_paint *paint;
	enum space_paint_by by;
	uint8_t *class_of; /* THREAD, SITE: by thread, by stack */
	uint64_t *bytes;   /* by cell and class */
};

/* --- regions and their cells ---------------------------------------------------------------- */

static bool is_larger(const struct space_region *a, const struct space_region *b)
{
	const uint64_t a_bytes = a->end - a->begin, b_bytes = b->end - b->begin;

	return a_bytes > b_bytes || (a_bytes == b_bytes && a->begin < b->begin);
}

/* Number of larger regions. */
static size_t rank_of(const struct space_region_vec *regions, size_t region)
{
	size_t rank = 0;

	for (size_t i = 0; i < regions->count && rank < SPACE_PAINT_REGIONS; i++)
		rank += is_larger(&regions->items[i], &regions->items[region]);
	return rank;
}

static struct err *regions_choose(const struct space_region_vec *all, uint64_t cell_max,
				  struct arena *arena, struct space_paint *paint)
{
	uint64_t bytes = 0;

	paint->regions = arena_array(arena, u64_min(all->count, SPACE_PAINT_REGIONS),
				     sizeof(*paint->regions));
	if (!paint->regions)
		return err_nomem();
	for (size_t i = 0; i < all->count; i++) {
		if (rank_of(all, i) >= SPACE_PAINT_REGIONS)
			continue;
		paint->regions[paint->region_count++].region = &all->items[i];
		bytes += all->items[i].end - all->items[i].begin;
	}
	for (size_t i = 0; i < paint->region_count; i++) {
		struct space_paint_region *at = &paint->regions[i];
		const uint64_t size = at->region->end - at->region->begin;
		const uint64_t fine = space_cell_bytes(size, SPACE_PAINT_REGION_CELLS);

		at->cell_bytes = u64_min(space_cell_bytes(bytes, cell_max), fine);
		at->first = paint->cell_count;
		at->count = div_up(size, at->cell_bytes);
		paint->cell_count += at->count;
	}
	return NULL;
}

/* The region that contains the address; NULL: none that is drawn. */
static const struct space_paint_region *region_at(const struct space_paint *paint, uint64_t address)
{
	size_t low = 0, high = paint->region_count;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (paint->regions[middle].region->end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < paint->region_count && paint->regions[low].region->begin <= address
		       ? &paint->regions[low]
		       : NULL;
}

static void cells_fill(const struct space *space, struct painter *painter)
{
	const struct vec_u64 *pinned = &painter->waste->pinned;
	struct space_paint *paint = painter->paint;

	for (size_t i = 0; i < paint->region_count; i++) {
		const struct space_paint_region *at = &paint->regions[i];

		space_cells_fill(space, at->region->begin, at->region->end, at->cell_bytes,
				 paint->cells + at->first);
	}
	for (size_t i = 0; i < pinned->count; i++) {
		const uint64_t page = pinned->items[i];
		const struct space_paint_region *at = region_at(paint, page);
		uint16_t *cell;

		if (!at)
			continue;
		cell = &paint->pinned[at->first + (page - at->region->begin) / at->cell_bytes];
		if (*cell < UINT16_MAX)
			(*cell)++;
	}
}

/* --- classes ------------------------------------------------------------------------------- */

static unsigned place_in(const uint64_t *limits, uint64_t value)
{
	unsigned class = 0;

	while (class + 1 < SPACE_PAINT_CLASSES && value >= limits[class + 1])
		class ++;
	return class;
}

static unsigned class_of(const struct painter *painter, const struct space_block *block)
{
	switch (painter->by) {
	case SPACE_PAINT_USE:
		break;
	case SPACE_PAINT_AGE:
		return place_in(ages, painter->waste->before_ns -
					      u64_min(block->extra, painter->waste->before_ns));
	case SPACE_PAINT_SIZE:
		return place_in(sizes, block->bytes);
	case SPACE_PAINT_THREAD:
		return painter->class_of[block->extra];
	case SPACE_PAINT_SITE:
		return painter->class_of[block->stack];
	}
	return 0;
}

static void paint_block(void *context, const struct space_block *block)
{
	struct painter *painter = context;
	const unsigned class = class_of(painter, block);
	const struct space_paint_region *at = region_at(painter->paint, block->address);
	struct model_sum *sum = &painter->paint->class_sums[class].live;
	uint64_t begin, end;

	sum->count++;
	sum->bytes += block->bytes;
	if (!at)
		return;
	begin = block->address - at->region->begin;
	end = u64_min(block->usable, at->region->end - block->address) + begin;
	for (uint64_t next; begin < end; begin = next) {
		const uint64_t cell = begin / at->cell_bytes;

		next = u64_min((cell + 1) * at->cell_bytes, end);
		painter->bytes[(at->first + cell) * SPACE_PAINT_CLASSES + class] += next - begin;
	}
}

/* --- which threads and which functions have classes of their own ------------------------------ */

static void sum_thread(void *context, const struct space_block *block)
{
	((uint64_t *)context)[block->extra] += block->bytes;
}

static bool threads_rank(struct painter *painter, const struct model *model, struct arena *arena)
{
	const size_t count = model_thread_count(model);
	uint64_t *bytes = arena_array(arena, count, sizeof(*bytes));

	painter->class_of = arena_array(arena, count, sizeof(*painter->class_of));
	if (!bytes || !painter->class_of ||
	    !space_blocks_each(model, painter->waste->before_ns, MODEL_THREAD, sum_thread, bytes))
		return false;
	memset(painter->class_of, SPACE_PAINT_CLASSES - 1, count);
	for (unsigned class = 0; class < SPACE_PAINT_CLASSES - 1; class ++) {
		size_t most = 0;

		for (size_t i = 1; i < count; i++)
			if (bytes[i] > bytes[most])
				most = i;
		if (count == 0 || bytes[most] == 0)
			break;
		bytes[most] = 0;
		painter->class_of[most] = (uint8_t) class;
		painter->paint->class_sums[class].thread = (uint32_t)most;
	}
	return true;
}

static struct err *sites_rank_live(struct painter *painter, struct names *names,
				   struct arena *arena)
{
	const size_t stack_count = model_stack_count(painter->waste->sums.model);
	const struct site *const *ranked;
	struct sites sites;
	size_t count;
	struct err *err = sites_find(&painter->waste->sums, names, WALK_MY, arena, &sites);

	if (!err)
		err = sites_rank(&sites, METRIC_ALLOCATED, SPACE_PAINT_CLASSES - 1, arena, &ranked,
				 &count);
	painter->class_of = arena_array(arena, stack_count, sizeof(*painter->class_of));
	if (!err && !painter->class_of)
		err = err_nomem();
	if (err)
		return err;
	memset(painter->class_of, SPACE_PAINT_CLASSES - 1, stack_count);
	for (size_t i = 0; i < count; i++)
		painter->paint->class_sums[i].stack = ranked[i]->stacks[METRIC_ALLOCATED];
	for (size_t stack = 0; stack < stack_count; stack++)
		for (size_t i = 0; i < count && sites.site_of[stack] != UINT32_MAX; i++)
			if (&sites.items[sites.site_of[stack]] == ranked[i])
				painter->class_of[stack] = (uint8_t)i;
	return NULL;
}

static struct err *classes_begin(struct painter *painter, struct names *names, struct arena *arena)
{
	struct space_paint *paint = painter->paint;

	paint->class_count = painter->by == SPACE_PAINT_USE ? 0 : SPACE_PAINT_CLASSES;
	for (unsigned i = 0; i < SPACE_PAINT_CLASSES; i++)
		paint->class_sums[i] = (struct space_paint_class) {
			.from = painter->by == SPACE_PAINT_AGE ? ages[i] : sizes[i],
			.thread = MODEL_NO_THREAD,
			.stack = UINT32_MAX,
		};
	if (painter->by == SPACE_PAINT_THREAD)
		return threads_rank(painter, painter->waste->sums.model, arena) ? NULL
										: err_nomem();
	return painter->by == SPACE_PAINT_SITE ? sites_rank_live(painter, names, arena) : NULL;
}

static void classes_choose(const struct painter *painter)
{
	for (size_t cell = 0; cell < painter->paint->cell_count; cell++) {
		const uint64_t *bytes = &painter->bytes[cell * SPACE_PAINT_CLASSES];
		unsigned most = 0;

		for (unsigned i = 1; i < SPACE_PAINT_CLASSES; i++)
			if (bytes[i] > bytes[most])
				most = i;
		painter->paint->classes[cell] =
			(uint8_t)(bytes[most] ? most : SPACE_PAINT_NO_CLASS);
	}
}

static struct err *classes_paint(struct painter *painter, struct names *names, struct arena *arena)
{
	static const enum model_column columns[] = { MODEL_SIZE, MODEL_ALLOC_NS, MODEL_SIZE,
						     MODEL_THREAD, MODEL_SIZE };
	struct err *err = classes_begin(painter, names, arena);

	painter->bytes = arena_array(arena, painter->paint->cell_count * SPACE_PAINT_CLASSES,
				     sizeof(*painter->bytes));
	if (err || !painter->bytes)
		return err ? err : err_nomem();
	if (!space_blocks_each(painter->waste->sums.model, painter->waste->before_ns,
			       columns[painter->by], paint_block, painter))
		return err_nomem();
	classes_choose(painter);
	return NULL;
}

struct err *space_paint_find(const struct space *space, const struct space_waste *waste,
			     enum space_paint_by by, struct names *names, uint64_t cell_max,
			     struct arena *arena, struct space_paint *paint_ret)
{
	struct space_paint paint = { 0 };
	struct painter painter = { .waste = waste, .paint = &paint, .by = by };
	struct err *err = regions_choose(&waste->regions, cell_max, arena, &paint);

	assert(cell_max > 0);
	if (err)
		return err;
	paint.cells = arena_array(arena, paint.cell_count, sizeof(*paint.cells));
	paint.pinned = arena_array(arena, paint.cell_count, sizeof(*paint.pinned));
	paint.classes = arena_array(arena, paint.cell_count, sizeof(*paint.classes));
	if (!paint.cells || !paint.pinned || !paint.classes)
		return err_nomem();
	cells_fill(space, &painter);
	if (by != SPACE_PAINT_USE)
		err = classes_paint(&painter, names, arena);
	if (!err)
		*paint_ret = paint;
	return err;
}
