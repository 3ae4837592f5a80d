/*
 * /api/v1/heap: the heap at a moment, cell by cell: in use, resident, held by one block, and
 * whose.
 */
#include "http/api_parts.h"
#include "space/space_paint.h"

enum { CELLS = 8192, CELLS_MIN = 64, CELLS_MAX = 1 << 16 };

struct answer {
	struct call *call;
	struct names *names; /* SPACE_PAINT_SITE */
	enum space_paint_by by;
	struct space *space;
	struct space_waste waste;
	struct space_paint paint;
};

static void class_emit(const struct answer *answer, size_t index)
{
	const struct space_paint_class *class = &answer->paint.class_sums[index];
	struct emit *emit = answer->call->emit;

	api_sum_begin(emit, NULL, class->live);
	if (answer->by == SPACE_PAINT_AGE || answer->by == SPACE_PAINT_SIZE)
		emit_u64(emit, "from", class->from, EMIT_COUNT);
	if (class->thread != MODEL_NO_THREAD) {
		const struct model_thread *thread =
			model_thread(answer->call->model, class->thread);

		emit_u64(emit, "tid", thread->tid, EMIT_COUNT);
		emit_text(emit, "name", thread->name);
	}
	if (class->stack != UINT32_MAX) {
		struct walk walk =
			walk_begin(answer->call->model, answer->names, class->stack, WALK_FOLD);

		api_function(answer->call, answer->names, walk_next(&walk));
	}
	emit_end(emit);
}

static const char *name_of(const struct answer *answer, const struct space_region *region)
{
	const struct mapping_vec *all = mappings_all(space_mappings(answer->space));

	return region->mapping < all->count ? all->items[region->mapping].name : "";
}

static struct err *cells_emit(const struct answer *answer, const struct space_paint_region *at)
{
	const struct space_cell *cells = answer->paint.cells + at->first;
	struct emit *emit = answer->call->emit;
	uint64_t *values = arena_array(answer->call->arena, at->count, sizeof(*values));

	if (!values)
		return err_nomem();
	for (size_t i = 0; i < at->count; i++)
		values[i] = cells[i].live;
	json_u64s(emit, "live", values, at->count);
	for (size_t i = 0; i < at->count; i++)
		values[i] = cells[i].resident;
	json_u64s(emit, "resident", values, at->count);
	for (size_t i = 0; i < at->count; i++)
		values[i] = answer->paint.pinned[at->first + i];
	json_u64s(emit, "pinned", values, at->count);
	if (answer->paint.class_count > 0)
		json_u8s(emit, "class", answer->paint.classes + at->first, at->count);
	return NULL;
}

static struct err *region_emit(const struct answer *answer, const struct space_paint_region *at)
{
	const struct space_region *region = at->region;
	struct emit *emit = answer->call->emit;
	struct err *err;

	emit_object(emit, NULL);
	emit_address(emit, "begin", region->begin);
	emit_address(emit, "end", region->end);
	emit_text(emit, "kind", mapping_kind_words[region->kind]);
	emit_text(emit, "name", name_of(answer, region));
	emit_u64(emit, "resident_bytes", region->resident, EMIT_BYTES);
	emit_u64(emit, "live_bytes", region->live, EMIT_BYTES);
	emit_u64(emit, "free_pages", region->free_pages, EMIT_COUNT);
	emit_u64(emit, "longest_free_bytes", region->largest_free, EMIT_BYTES);
	emit_u64(emit, "cell_bytes", at->cell_bytes, EMIT_BYTES);
	err = cells_emit(answer, at);
	emit_end(emit);
	return err;
}

static struct err *emit_all(const struct answer *answer)
{
	struct emit *emit = answer->call->emit;
	struct err *err = NULL;

	emit_u64(emit, "at_ns", answer->waste.ns, EMIT_DURATION);
	emit_bool(emit, "has_snapshot", answer->waste.snapshot != SIZE_MAX);
	emit_bool(emit, "pages_known", answer->waste.is_exact);
	emit_text(emit, "by", space_paint_words[answer->by]);
	emit_u64(emit, "region_count", answer->waste.regions.count, EMIT_COUNT);
	emit_list(emit, "classes");
	for (size_t i = 0; i < answer->paint.class_count; i++)
		class_emit(answer, i);
	emit_end(emit);
	emit_list(emit, "regions");
	for (size_t i = 0; i < answer->paint.region_count && !err; i++)
		err = region_emit(answer, &answer->paint.regions[i]);
	emit_end(emit);
	return err;
}

static struct err *run(struct call *call)
{
	struct answer answer = { .call = call, .by = (enum space_paint_by)call_choice(call, "by") };
	uint64_t at_ns;
	struct err *err = api_at(call, &at_ns);

	if (!err && answer.by == SPACE_PAINT_SITE)
		err = call_names(call, &answer.names);
	if (!err)
		err = space_create(call->model, &answer.space);
	if (!err)
		err = space_waste_find(call->model, answer.space, at_ns, call->arena,
				       &answer.waste);
	if (!err)
		err = call_check(call);
	if (!err)
		err = space_paint_find(answer.space, &answer.waste, answer.by, answer.names,
				       call_number(call, "cells"), call->arena, &answer.paint);
	if (!err)
		err = emit_all(&answer);
	space_waste_deinit(&answer.waste);
	space_destroy(answer.space);
	return err;
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
	.answer = "Heap",
	.flags = ROUTE_TAPE,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
