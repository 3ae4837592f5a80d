/*
 * /api/v1/heap: the heap at a moment, cell by cell: in use, resident, held by one block, and by
 * which function.
 */
#include "http/api_parts.h"
#include "space/space_paint.h"

enum { CELLS = 8192, CELLS_MIN = 64, CELLS_MAX = 1 << 16 };

struct heap_class {
	uint64_t bytes, count, from, tid;
	const char *name;
	struct api_function *function;
};

struct heap_region {
	uint64_t begin, end;
	const char *kind, *use, *name;
	uint64_t resident_bytes, live_bytes, live_count, free_pages, longest_free_bytes, cell_bytes;
	struct shape_numbers live, resident, pinned, class;
};

struct heap {
	uint64_t at_ns;
	bool has_snapshot, pages_known;
	const char *by;
	uint64_t region_count;
	struct shape_rows classes, regions;
};

static const struct member class_members[] = {
	MEMBER(struct heap_class, bytes, BYTES, NULL),
	MEMBER(struct heap_class, count, COUNT, "blocks"),
	MEMBER(struct heap_class, from, PLAIN, "by=age, size: the least of it", .optional = true),
	MEMBER(struct heap_class, tid, PLAIN, "by=thread", .optional = true),
	MEMBER(struct heap_class, name, TEXT, "by=thread: its name", .optional = true),
	MEMBER(struct heap_class, function, FLAT, "by=site", .shape = &api_shape_function,
	       .optional = true),
};
static const struct shape shape_class = SHAPE("HeapClass", struct heap_class, class_members);

static const struct member region_members[] = {
	MEMBER(struct heap_region, begin, ADDRESS, NULL),
	MEMBER(struct heap_region, end, ADDRESS, NULL),
	MEMBER(struct heap_region, kind, TEXT, NULL),
	MEMBER(struct heap_region, use, TEXT, "what the allocator uses it for",
	       .words = space_use_words),
	MEMBER(struct heap_region, name, TEXT, "as the kernel has it"),
	MEMBER(struct heap_region, resident_bytes, BYTES, NULL),
	MEMBER(struct heap_region, live_bytes, BYTES, NULL),
	MEMBER(struct heap_region, live_count, COUNT, "live blocks that begin in it"),
	MEMBER(struct heap_region, free_pages, COUNT, "resident, and nothing alive in them"),
	MEMBER(struct heap_region, longest_free_bytes, BYTES, "between two blocks"),
	MEMBER(struct heap_region, cell_bytes, BYTES, "of one cell"),
	MEMBER(struct heap_region, live, NUMBERS, "by cell: bytes"),
	MEMBER(struct heap_region, resident, NUMBERS, "by cell: bytes"),
	MEMBER(struct heap_region, pinned, NUMBERS, "by cell: pages that one block keeps"),
	MEMBER(struct heap_region, class, NUMBERS,
	       "by cell: which of classes; their number: nothing is alive there", .optional = true),
};
static const struct shape shape_region = SHAPE("HeapCells", struct heap_region, region_members);

static const struct member heap_members[] = {
	MEMBER(struct heap, at_ns, NS, "the moment that is shown"),
	MEMBER(struct heap, has_snapshot, FLAG, "whether the address space was looked at then"),
	MEMBER(struct heap, pages_known, FLAG, "whether each page is known to be resident or not"),
	MEMBER(struct heap, by, TEXT, "what a class is of", .words = space_paint_words),
	MEMBER(struct heap, region_count, COUNT, NULL),
	MEMBER(struct heap, classes, ROWS, NULL, .shape = &shape_class),
	MEMBER(struct heap, regions, ROWS, NULL, .shape = &shape_region),
};
static const struct shape shape_heap = SHAPE("Heap", struct heap, heap_members);

struct painted {
	struct call *call;
	struct names *names; /* SPACE_PAINT_SITE */
	enum space_paint_by by;
	struct space *space;
	struct space_waste waste;
	struct space_paint paint;
};

static void painted_end(void *ends)
{
	struct painted *painted = ends;

	space_waste_deinit(&painted->waste);
	space_destroy(painted->space);
}

static struct err *class_fill(const struct painted *painted, size_t index, struct heap_class *class)
{
	const struct space_paint_class *sums = &painted->paint.class_sums[index];
	const bool has_from = painted->by == SPACE_PAINT_AGE || painted->by == SPACE_PAINT_SIZE;
	const struct model *model = painted->call->model;
	struct walk walk;

	*class = (struct heap_class) {
		.bytes = sums->live.bytes,
		.count = sums->live.count,
		.from = has_from ? sums->from : SHAPE_NONE,
		.tid = SHAPE_NONE,
	};
	if (sums->thread != MODEL_NO_THREAD) {
		class->tid = model_thread(model, sums->thread)->tid;
		class->name = model_thread(model, sums->thread)->name;
	}
	if (sums->stack == UINT32_MAX)
		return NULL;
	class->function = arena_new(painted->call->arena, struct api_function);
	if (!class->function)
		return err_nomem();
	walk = walk_begin(model, painted->names, sums->stack, WALK_MY);
	*class->function = api_function_of(model, painted->names, walk_next(&walk));
	return NULL;
}

static const char *name_of(const struct painted *painted, const struct space_region *region)
{
	const struct mapping_vec *all = mappings_all(space_mappings(painted->space));

	return region->mapping < all->count ? all->items[region->mapping].name : "";
}

static struct err *cells_fill(const struct painted *painted, const struct space_paint_region *at,
			      struct heap_region *region)
{
	const struct space_cell *cells = painted->paint.cells + at->first;
	struct arena *arena = painted->call->arena;
	uint64_t *live = arena_array(arena, at->count, sizeof(*live));
	uint64_t *resident = arena_array(arena, at->count, sizeof(*resident));
	uint64_t *pinned = arena_array(arena, at->count, sizeof(*pinned));
	uint64_t *class = arena_array(arena, at->count, sizeof(*class));
	const bool has_classes = painted->paint.class_count > 0;

	if (!live || !resident || !pinned || !class)
		return err_nomem();
	for (size_t i = 0; i < at->count; i++) {
		live[i] = cells[i].live;
		resident[i] = cells[i].resident;
		pinned[i] = painted->paint.pinned[at->first + i];
		class[i] = has_classes ? painted->paint.classes[at->first + i] : 0;
	}
	region->live = (struct shape_numbers) { live, at->count };
	region->resident = (struct shape_numbers) { resident, at->count };
	region->pinned = (struct shape_numbers) { pinned, at->count };
	region->class = (struct shape_numbers) { has_classes ? class : NULL, at->count };
	return NULL;
}

static struct err *region_fill(const struct painted *painted, const struct space_paint_region *at,
			       struct heap_region *value)
{
	const struct space_region *region = at->region;

	*value = (struct heap_region) {
		.begin = region->begin,
		.end = region->end,
		.kind = mapping_kind_words[region->kind],
		.use = space_use_words[space_region_use(region)],
		.name = name_of(painted, region),
		.resident_bytes = region->resident,
		.live_bytes = region->live,
		.live_count = region->block_count,
		.free_pages = region->free_pages,
		.longest_free_bytes = region->largest_free,
		.cell_bytes = at->cell_bytes,
	};
	return cells_fill(painted, at, value);
}

static struct err *heap_fill(const struct painted *painted, struct heap *heap)
{
	const size_t class_count = painted->paint.class_count;
	const size_t region_count = painted->paint.region_count;
	struct arena *arena = painted->call->arena;
	struct heap_class *classes = arena_array(arena, class_count, sizeof(*classes));
	struct heap_region *regions = arena_array(arena, region_count, sizeof(*regions));
	struct err *err = classes && regions ? NULL : err_nomem();

	for (size_t i = 0; i < class_count && !err; i++)
		err = class_fill(painted, i, &classes[i]);
	for (size_t i = 0; i < region_count && !err; i++)
		err = region_fill(painted, &painted->paint.regions[i], &regions[i]);
	*heap = (struct heap) {
		.at_ns = painted->waste.ns,
		.has_snapshot = painted->waste.snapshot != SIZE_MAX,
		.pages_known = painted->waste.is_exact,
		.by = space_paint_words[painted->by],
		.region_count = painted->waste.regions.count,
		.classes = { .items = classes, .count = class_count },
		.regions = { .items = regions, .count = region_count },
	};
	return err;
}

static struct err *find(struct call *call, void *answer)
{
	struct painted *painted = arena_new(call->arena, struct painted);
	uint64_t at_ns;
	struct err *err = painted ? api_at(call, &at_ns) : err_nomem();

	if (err)
		return err;
	painted->call = call;
	painted->by = (enum space_paint_by)call_choice(call, "by");
	call_at_end(call, painted_end, painted);
	if (painted->by == SPACE_PAINT_SITE)
		err = call_names(call, &painted->names);
	if (!err)
		err = space_create(call->model, &painted->space);
	if (!err)
		err = space_waste_find(call->model, painted->space, at_ns, call->arena,
				       &painted->waste);
	if (!err)
		err = call_check(call);
	if (!err)
		err = space_paint_find(painted->space, &painted->waste, painted->by, painted->names,
				       call_number(call, "cells"), call->arena, &painted->paint);
	return err ? err : heap_fill(painted, answer);
}

static const struct param params[] = {
	{ .name = "at",
	  .kind = PARAM_MOMENT,
	  .doc = "the moment; the nearest look at the address space is shown",
	  .missing = "the peak" },
	{ .name = "by",
	  .kind = PARAM_CHOICE,
	  .words = space_paint_words,
	  .fallback = SPACE_PAINT_USE,
	  .doc = "what most live bytes of a cell have in common",
	  .missing = "use: nothing" },
	{ .name = "cells",
	  .kind = PARAM_NUMBER,
	  .min = CELLS_MIN,
	  .max = CELLS_MAX,
	  .fallback = CELLS,
	  .doc = "about so many cells, of all regions together",
	  .missing = "8192" },
};

const struct route route_api_heap = {
	.path = "/api/v1/heap",
	.summary = "the heap at a moment, cell by cell",
	.shape = &shape_heap,
	.flags = ROUTE_TAPE,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
