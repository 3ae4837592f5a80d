/*
 * /api/v1/frame: one function: everything allocated in it and its callees, by every metric, over
 * time, by size and line, and its neighbours in the stacks.
 */
#include "answer/frame.h"
#include "base/map.h"
#include "base/sort.h"
#include "groups/portrait.h"
#include "http/api_parts.h"
#include "model/import.h"
#include "space/fault_owners.h"
#include "space/touches.h"
#include "sums/kernel_events.h"
#include "sums/name_hash.h"
#include "sums/scans.h"
#include "time/spans.h"
#include "trees/tree.h"

enum { CURVE_POINTS = 120, SIDE_MAX = 20, LINES_MAX = 50 };

/* For a stack: the function is not in it; is in it; is the allocating one. */
enum part { OUTSIDE, INSIDE, ALLOCATES };

struct line {
	const char *file;
	uint32_t line;
	uint64_t value;
};

VEC_DEFINE(line_vec, struct line);

struct function {
	struct call *call;
	struct names *names;
	uint64_t hash;
	struct measure measure; /* for callers, callees and lines */
	struct api_range range;
	const struct selection *selection;
	struct sums sums; /* of the metric */
	struct focus focus;
	uint8_t *inside;	      /* by stack: enum part */
	const struct selection *part; /* what was allocated inside */
	struct line_vec lines;
};

/* --- location ------------------------------------------------------------------------------ */

static uint32_t name_of(const struct function *function)
{
	return focus_frame(function->names, &function->focus.places[0])->name;
}

static struct err *inside_find(struct function *function)
{
	const struct model *model = function->call->model;
	const struct capture_stack *stacks = model_stacks(model);
	const size_t count = model_stack_count(model);
	uint32_t last = UINT32_MAX;
	bool is_it = false;

	function->inside = arena_array(function->call->arena, count, 1);
	if (!function->inside)
		return err_nomem();
	for (size_t i = 0; i < function->focus.count; i++)
		function->inside[function->focus.places[i].stack] = INSIDE;
	for (uint32_t i = CAPTURE_STACK_FIRST; i < count; i++) {
		struct walk walk;
		uint32_t name;

		if (function->inside[stacks[i].parent] != OUTSIDE)
			function->inside[i] = INSIDE;
		if (function->inside[i] == OUTSIDE ||
		    model_stack_sums(model, i)->allocated.count == 0)
			continue;
		walk = walk_begin(model, function->names, i, api_frames(function->call));
		name = walk_next(&walk)->name;
		if (name != last) /* few functions allocate, often several times in a row */
			is_it = name_hash(model, names_get(function->names, name)) ==
				function->hash;
		last = name;
		if (is_it)
			function->inside[i] = ALLOCATES;
	}
	return NULL;
}

static struct err *line_add(struct function *function, struct map *by_line,
			    const struct name_frame *frame, uint64_t value)
{
	const uint64_t key = hash_bytes(frame->file, strlen(frame->file), frame->line);
	bool is_new;
	uint64_t *place = map_put(by_line, key, &is_new);

	if (!place)
		return err_nomem();
	if (is_new) {
		*place = function->lines.count;
		if (!line_vec_push(&function->lines,
				   (struct line) { .file = frame->file, .line = frame->line }))
			return err_nomem();
	}
	function->lines.items[*place].value += value;
	return NULL;
}

static int line_compare(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct line *)b)->value, ((const struct line *)a)->value);
}

/* What each of its lines allocated, directly or in callees. */
static struct err *lines_find(struct function *function)
{
	const enum metric metric = function->measure.metric;
	CLEAN(map_deinit) struct map by_line = { 0 };
	struct err *err = sums_total_up(&function->sums, function->call->arena);

	for (size_t i = 0; i < function->focus.count && !err; i++) {
		const struct focus_place *place = &function->focus.places[i];
		const struct name_frame *frame = focus_frame(function->names, place);
		const uint64_t value = metric_value(metric, &function->sums.totals[place->stack]);

		if (frame->file && frame->line && value > 0)
			err = line_add(function, &by_line, frame, value);
	}
	if (!err && !sort_stable(function->lines.items, function->lines.count, sizeof(struct line),
				 line_compare, NULL))
		err = err_nomem();
	return err;
}

/* --- members ------------------------------------------------------------------------------- */

struct line_row {
	const char *file;
	uint64_t line, value;
};

struct metric_row {
	const char *m, *title, *unit;
	uint64_t total, self;
	double share;
};

struct life {
	uint64_t p50, p99;
};

struct size_row {
	uint64_t min, max, count, bytes;
};

struct curve {
	uint64_t from_ns, until_ns;
	struct shape_numbers values;
};

struct side_row {
	uint64_t hash;
	const char *function, *brief, *module;
	uint64_t value;
};

struct frame_detail {
	struct api_function function;
	struct shape_rows metrics;
	const struct life *life;
	struct shape_rows sizes;
	struct curve curve;
	struct shape_rows callers, callees, lines;
};

static const struct member line_members[] = {
	MEMBER(struct line_row, file, TEXT, NULL),
	MEMBER(struct line_row, line, PLAIN, NULL),
	MEMBER(struct line_row, value, PLAIN, "of the metric"),
};
static const struct shape shape_line = SHAPE("FrameLine", struct line_row, line_members);

static const struct member metric_members[] = {
	MEMBER(struct metric_row, m, TEXT, "the metric"),
	MEMBER(struct metric_row, title, TEXT, NULL),
	MEMBER(struct metric_row, unit, TEXT, NULL, .words = api_unit_words),
	MEMBER(struct metric_row, total, PLAIN, "in it and what it calls"),
	MEMBER(struct metric_row, self, PLAIN, "allocated by itself"),
	MEMBER(struct metric_row, share, RATIO, "total, of all that is selected", .decimals = 6),
};
static const struct shape shape_metric = SHAPE("FrameMetric", struct metric_row, metric_members);

static const struct member life_members[] = {
	MEMBER(struct life, p50, NS, "half of those that were freed lived no longer"),
	MEMBER(struct life, p99, NS, NULL),
};
static const struct shape shape_life = SHAPE("FrameLife", struct life, life_members);

static const struct member size_members[] = {
	MEMBER(struct size_row, min, BYTES, NULL),
	MEMBER(struct size_row, max, BYTES, "included"),
	MEMBER(struct size_row, count, COUNT, NULL),
	MEMBER(struct size_row, bytes, BYTES, NULL),
};
static const struct shape shape_size = SHAPE("FrameSize", struct size_row, size_members);

static const struct member curve_members[] = {
	MEMBER(struct curve, from_ns, NS, NULL),
	MEMBER(struct curve, until_ns, NS, NULL),
	MEMBER(struct curve, values, NUMBERS, "most bytes alive in each equal span of the time"),
};
static const struct shape shape_curve = SHAPE("FrameCurve", struct curve, curve_members);

static const struct member side_members[] = {
	MEMBER(struct side_row, hash, HASH, NULL),
	MEMBER(struct side_row, function, TEXT, NULL),
	MEMBER(struct side_row, brief, TEXT, PLACE_BRIEF_MEANING),
	MEMBER(struct side_row, module, TEXT, NULL, .nullable = true),
	MEMBER(struct side_row, value, PLAIN, "of the metric"),
};
static const struct shape shape_side = SHAPE("FrameShare", struct side_row, side_members);

static const struct member detail_members[] = {
	MEMBER(struct frame_detail, function, FLAT, NULL, .shape = &api_shape_function),
	MEMBER(struct frame_detail, metrics, ROWS,
	       "every one; retained and stale of tapes that have them", .shape = &shape_metric),
	MEMBER(struct frame_detail, life, OBJECT, "null: nothing was freed", .shape = &shape_life,
	       .nullable = true),
	MEMBER(struct frame_detail, sizes, ROWS, "those there are", .shape = &shape_size),
	MEMBER(struct frame_detail, curve, OBJECT, NULL, .shape = &shape_curve),
	MEMBER(struct frame_detail, callers, ROWS, NULL, .shape = &shape_side),
	MEMBER(struct frame_detail, callees, ROWS, NULL, .shape = &shape_side),
	MEMBER(struct frame_detail, lines, ROWS, "what each called or allocated",
	       .shape = &shape_line),
};
static const struct shape shape_detail = SHAPE("FrameDetail", struct frame_detail, detail_members);

static struct err *lines_fill(const struct function *function, struct shape_rows *rows)
{
	const size_t count = u64_min(function->lines.count, LINES_MAX);
	struct line_row *items = arena_array(function->call->arena, count, sizeof(*items));

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const struct line *line = &function->lines.items[i];

		items[i] = (struct line_row) { line->file, line->line, line->value };
	}
	*rows = (struct shape_rows) { .items = items, .count = count };
	return NULL;
}

/* --- every metric -------------------------------------------------------------------------- */

static struct metric_row metric_row_of(enum metric metric, bool goes_on, const uint64_t *values)
{
	const uint64_t total = values[INSIDE] + values[ALLOCATES], whole = values[OUTSIDE] + total;

	return (struct metric_row) {
		.m = metric_words_all[metric],
		.title = metric_title_of(metric, goes_on),
		.unit = api_unit(metric),
		.total = total,
		.self = values[ALLOCATES],
		.share = whole ? (double)total / (double)whole : 0,
	};
}

static bool has_scan(const struct function *function)
{
	const struct model_scan *scan = scan_last(function->call->model);

	return scan && !scan->trouble[0];
}

static struct err *metrics_fill(const struct function *function, struct shape_rows *rows)
{
	struct metric_row *items =
		arena_array(function->call->arena, METRICS_NAMED, sizeof(*items));
	uint64_t values[METRICS_NAMED][MEASURE_PARTS];
	struct err *err = items ? measure_split(function->selection, &function->measure,
						function->inside, values)
				: err_nomem();

	if (err)
		return err;
	rows->items = items;
	for (unsigned i = 0; i < METRICS_NAMED; i++)
		if ((i != METRIC_RETAINED || has_scan(function)) &&
		    (i != METRIC_STALE || touches_exist(function->call->model)) &&
		    (i != METRIC_OWNED_FAULTS ||
		     fault_owners_exist(function->call->model, TAPE_KERNEL_FAULT)) &&
		    (!metric_is_of_kernel(i) ||
		     kernel_events_exist(function->call->model,
					 (enum tape_kernel_kind)(i - METRIC_BRK))))
			items[rows->count++] = metric_row_of(
				(enum metric)i, model_goes_on(function->call->model), values[i]);
	return NULL;
}

/* --- its allocations ----------------------------------------------------------------------- */

static struct err *portrait_fill(const struct function *function, struct frame_detail *detail)
{
	struct arena *arena = function->call->arena;
	struct portrait *portrait = arena_new(arena, struct portrait);
	struct size_row *sizes = arena_array(arena, MODEL_SIZE_BUCKETS, sizeof(*sizes));
	struct life *life = arena_new(arena, struct life);
	struct err *err =
		portrait && sizes && life ? portrait_find(function->part, portrait) : err_nomem();

	if (err)
		return err;
	if (portrait->lifetimes.count > 0) {
		life->p50 = spread_percentile(&portrait->lifetimes, 500);
		life->p99 = spread_percentile(&portrait->lifetimes, 990);
		detail->life = life;
	}
	detail->sizes.items = sizes;
	for (unsigned i = 0; i < MODEL_SIZE_BUCKETS; i++) {
		const uint64_t min = i ? UINT64_C(1) << (i - 1) : 0;
		const struct model_sum *sum = &portrait->sizes[i];

		if (sum->count > 0)
			sizes[detail->sizes.count++] = (struct size_row) { min, i ? min * 2 - 1 : 0,
									   sum->count, sum->bytes };
	}
	return NULL;
}

static struct err *curve_fill(const struct function *function, struct curve *curve)
{
	struct model_timeline_span spans[CURVE_POINTS];
	const struct api_range *range = &function->range;
	const size_t count = u64_min(CURVE_POINTS, range->until_ns - range->from_ns);
	uint64_t *values = arena_array(function->call->arena, count, sizeof(*values));
	struct err *err =
		values ? spans_find(function->part, range->from_ns, range->until_ns, count, spans)
		       : err_nomem();

	if (err)
		return err;
	for (size_t i = 0; i < count; i++)
		values[i] = spans[i].live_bytes_max;
	*curve = (struct curve) { range->from_ns, range->until_ns, { values, count } };
	return NULL;
}

/* --- callers and callees ------------------------------------------------------------------- */

static struct side_row side_row_of(const struct function *function, const struct tree *tree,
				   uint32_t node)
{
	const struct name *name = names_get(function->names, tree->nodes[node].name);

	return (struct side_row) {
		.hash = name_hash(function->call->model, name),
		.function = name->function,
		.brief = name->brief,
		.module = api_module(name),
		.value = metric_value(tree->metric, &tree->nodes[node].total),
	};
}

/* The tree around the function has it below its root, and its callers or callees below that. */
static struct err *side_fill(const struct function *function, enum tree_direction direction,
			     struct shape_rows *rows)
{
	const struct tree_settings settings = {
		.direction = direction,
		.mode = api_frames(function->call),
		.metric = function->measure.metric,
		.depth_max = 2,
		.focus = &function->focus,
		.path = &function->hash,
		.path_count = 1,
	};
	struct arena *arena = function->call->arena;
	struct side_row *items = arena_array(arena, SIDE_MAX, sizeof(*items));
	struct tree tree;
	uint32_t node;
	struct err *err =
		items ? tree_build(&function->sums, function->names, &settings, arena, &tree)
		      : err_nomem();

	if (err)
		return err;
	rows->items = items;
	node = tree.path_end == TREE_ROOT ? TREE_NONE : tree.nodes[tree.path_end].first_child;
	for (; rows->count < SIDE_MAX && node != TREE_NONE; rows->count++) {
		items[rows->count] = side_row_of(function, &tree, node);
		node = tree.nodes[node].next_sibling;
	}
	return NULL;
}

/* --- the answer ---------------------------------------------------------------------------- */

static struct err *function_find(struct function *function)
{
	struct call *call = function->call;
	struct err *err = call_names(call, &function->names);

	if (!err)
		err = api_measure(call, &function->measure);
	if (!err)
		err = api_range(call, &function->range);
	if (!err)
		err = call_select(call, &function->selection);
	if (!err)
		err = call_blame(call, "h",
				 focus_find_hash(&function->selection->sums, function->names,
						 function->hash, call->arena, &function->focus));
	if (!err)
		err = measure_sums(function->selection, &function->measure, call->arena,
				   &function->sums);
	if (!err)
		err = inside_find(function);
	if (!err)
		err = selection_narrow(function->selection, function->inside, call->arena,
				       &function->part);
	return err ? err : lines_find(function);
}

static struct err *detail_fill(struct function *function, struct frame_detail *detail)
{
	const struct line *line = function->lines.items; /* largest first */
	const struct name *name = names_get(function->names, name_of(function));
	struct err *err = metrics_fill(function, &detail->metrics);

	detail->function = (struct api_function) {
		.hash = function->hash,
		.function = name->function,
		.brief = name->brief,
		.module = api_module(name),
		.file = line ? line->file : NULL,
		.line = line && line->line ? line->line : SHAPE_NONE,
	};
	if (!err)
		err = portrait_fill(function, detail);
	if (!err)
		err = curve_fill(function, &detail->curve);
	if (!err)
		err = side_fill(function, TREE_BOTTOM_UP, &detail->callers);
	if (!err)
		err = side_fill(function, TREE_TOP_DOWN, &detail->callees);
	return err ? err : lines_fill(function, &detail->lines);
}

static struct err *find(struct call *call, void *answer)
{
	struct function function = { .call = call };
	struct err *err;

	call_hash(call, "h", &function.hash);
	err = function_find(&function);
	if (!err)
		err = detail_fill(&function, answer);
	line_vec_deinit(&function.lines);
	return err;
}

static const struct param params[] = {
	{ .name = "h", .kind = PARAM_HASH, .is_required = true, .doc = "the hash of the function" },
	API_PARAM_MEASURE,
	API_PARAM_AT,
	API_PARAM_SCAN,
	API_PARAM_FRAMES,
};

const struct route route_api_frame = {
	.path = "/api/v1/frame",
	.summary =
		"one function: by every metric, over time, by size and line; callers and callees",
	.shape = &shape_detail,
	.flags = ROUTE_TAPE | ROUTE_SELECTS,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
