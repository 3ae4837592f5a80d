/*
 * /api/v1/frame: one function: everything that was allocated in it and in what it called, by every
 * metric, over time, by size and line, and who is next to it in the stacks.
 */
#include "base/map.h"
#include "base/sort.h"
#include "groups/portrait.h"
#include "http/api_parts.h"
#include "sums/name_hash.h"
#include "time/spans.h"
#include "trees/tree.h"

enum { CURVE_POINTS = 120, SIDE_MAX = 20, LINES_MAX = 50 };

/* Of a stack: the function is not in it; is in it; is the one that allocates. */
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
	enum metric metric; /* of callers, callees and lines */
	uint64_t at_ns;
	struct api_range range;
	const struct selection *selection;
	struct sums sums; /* of the metric */
	struct focus focus;
	uint8_t *inside;	      /* by stack: enum part */
	const struct selection *part; /* what was allocated inside */
	struct line_vec lines;
};

/* --- where it is --------------------------------------------------------------------------- */

static uint32_t name_of(const struct function *function)
{
	return focus_frame(function->names, &function->focus.places[0])->name;
}

static struct err *inside_find(struct function *function)
{
	const struct model *model = function->call->model;
	const struct capture_stack *stacks = model_stacks(model);
	const struct model_stack_sums *sums = model_stack_sums(model);
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
		if (function->inside[i] == OUTSIDE || sums[i].allocated.count == 0)
			continue;
		walk = walk_begin(model, function->names, i, WALK_FOLD);
		name = walk_next(&walk)->name;
		if (name != last) /* few functions allocate, one after the other the same */
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

/* What each of its lines called or allocated. */
static struct err *lines_find(struct function *function)
{
	const enum metric metric = function->metric;
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

static void lines_emit(const struct function *function)
{
	struct emit *emit = function->call->emit;

	emit_list(emit, "lines");
	for (size_t i = 0; i < u64_min(function->lines.count, LINES_MAX); i++) {
		const struct line *line = &function->lines.items[i];

		emit_object(emit, NULL);
		emit_text(emit, "file", line->file);
		emit_u64(emit, "line", line->line, EMIT_PLAIN);
		emit_u64(emit, "value", line->value, EMIT_BYTES);
		emit_end(emit);
	}
	emit_end(emit);
}

/* --- every metric -------------------------------------------------------------------------- */

static void metric_emit(const struct function *function, enum metric metric, const uint64_t *values)
{
	struct emit *emit = function->call->emit;
	const uint64_t total = values[INSIDE] + values[ALLOCATES], whole = values[OUTSIDE] + total;

	emit_object(emit, NULL);
	emit_text(emit, "m", metric_words_all[metric]);
	emit_text(emit, "title", metric_title(metric));
	emit_text(emit, "unit", metric_is_bytes(metric) ? "bytes" : "count");
	emit_u64(emit, "total", total, EMIT_BYTES);
	emit_u64(emit, "self", values[ALLOCATES], EMIT_BYTES);
	emit_ratio(emit, "share", whole ? (double)total / (double)whole : 0, 6);
	emit_end(emit);
}

static struct err *metrics_emit(const struct function *function)
{
	uint64_t values[METRICS_NAMED][MEASURE_PARTS];
	struct err *err =
		measure_split(function->selection, function->at_ns, function->inside, values);

	if (err)
		return err;
	emit_list(function->call->emit, "metrics");
	for (unsigned i = 0; i < METRICS_NAMED; i++)
		metric_emit(function, (enum metric)i, values[i]);
	emit_end(function->call->emit);
	return NULL;
}

/* --- its allocations ----------------------------------------------------------------------- */

static void portrait_emit(const struct function *function, const struct portrait *portrait)
{
	struct emit *emit = function->call->emit;

	if (portrait->lifetimes.count == 0) {
		emit_null(emit, "life");
	} else {
		emit_object(emit, "life");
		emit_u64(emit, "p50", spread_percentile(&portrait->lifetimes, 500), EMIT_DURATION);
		emit_u64(emit, "p99", spread_percentile(&portrait->lifetimes, 990), EMIT_DURATION);
		emit_end(emit);
	}
	emit_list(emit, "sizes");
	for (unsigned i = 0; i < MODEL_SIZE_BUCKETS; i++) {
		if (portrait->sizes[i].count == 0)
			continue;
		emit_object(emit, NULL);
		emit_u64(emit, "min", i ? UINT64_C(1) << (i - 1) : 0, EMIT_BYTES);
		emit_u64(emit, "max", i ? (UINT64_C(1) << (i - 1)) * 2 - 1 : 0, EMIT_BYTES);
		emit_u64(emit, "count", portrait->sizes[i].count, EMIT_COUNT);
		emit_u64(emit, "bytes", portrait->sizes[i].bytes, EMIT_BYTES);
		emit_end(emit);
	}
	emit_end(emit);
}

static struct err *curve_emit(const struct function *function)
{
	struct model_timeline_span spans[CURVE_POINTS];
	const struct api_range *range = &function->range;
	const size_t count = u64_min(CURVE_POINTS, range->until_ns - range->from_ns);
	struct emit *emit = function->call->emit;
	uint64_t values[CURVE_POINTS];
	struct err *err = spans_find(function->part, range->from_ns, range->until_ns, count, spans);

	if (err)
		return err;
	for (size_t i = 0; i < count; i++)
		values[i] = spans[i].live_bytes_max;
	emit_object(emit, "curve");
	emit_u64(emit, "from_ns", range->from_ns, EMIT_DURATION);
	emit_u64(emit, "until_ns", range->until_ns, EMIT_DURATION);
	json_u64s(emit, "values", values, count);
	emit_end(emit);
	return NULL;
}

/* --- who is next to it --------------------------------------------------------------------- */

static void side_row_emit(const struct function *function, const struct tree *tree, uint32_t node)
{
	struct call *call = function->call;
	const struct name *name = names_get(function->names, tree->nodes[node].name);

	emit_object(call->emit, NULL);
	json_hash(call->emit, "hash", name_hash(call->model, name));
	emit_text(call->emit, "function", name->function);
	emit_text(call->emit, "module", api_module(name));
	emit_u64(call->emit, "value", metric_value(tree->metric, &tree->nodes[node].total),
		 EMIT_BYTES);
	emit_end(call->emit);
}

/* The tree around the function has it below its root, and its callers or callees below that. */
static struct err *side_emit(const struct function *function, const char *key,
			     enum tree_direction direction)
{
	const struct tree_settings settings = {
		.direction = direction,
		.mode = WALK_FOLD,
		.metric = function->metric,
		.depth_max = 2,
		.focus = &function->focus,
		.path = &function->hash,
		.path_count = 1,
	};
	struct tree tree;
	uint32_t node;
	struct err *err = tree_build(&function->sums, function->names, &settings,
				     function->call->arena, &tree);

	if (err)
		return err;
	emit_list(function->call->emit, key);
	node = tree.path_end == TREE_ROOT ? TREE_NONE : tree.nodes[tree.path_end].first_child;
	for (size_t i = 0; i < SIDE_MAX && node != TREE_NONE; i++) {
		side_row_emit(function, &tree, node);
		node = tree.nodes[node].next_sibling;
	}
	emit_end(function->call->emit);
	return NULL;
}

/* --- the answer ---------------------------------------------------------------------------- */

static struct err *function_find(struct function *function)
{
	struct call *call = function->call;
	struct err *err = call_names(call, &function->names);

	if (!err)
		err = api_at(call, &function->at_ns);
	if (!err)
		err = api_range(call, &function->range);
	if (!err)
		err = call_select(call, &function->selection);
	if (!err)
		err = call_blame(call, "h",
				 focus_find_hash(&function->selection->sums, function->names,
						 function->hash, call->arena, &function->focus));
	if (!err)
		err = measure_sums(function->selection, function->metric, function->at_ns,
				   call->arena, &function->sums);
	if (!err)
		err = inside_find(function);
	if (!err)
		err = selection_narrow(function->selection, function->inside, call->arena,
				       &function->part);
	return err ? err : lines_find(function);
}

static struct err *answer(struct function *function)
{
	struct call *call = function->call;
	struct portrait *portrait = arena_new(call->arena, struct portrait);
	const struct line *line = function->lines.items; /* most first */
	const struct name *name = names_get(function->names, name_of(function));
	struct err *err = portrait ? portrait_find(function->part, portrait) : err_nomem();

	if (err)
		return err;
	json_hash(call->emit, "hash", function->hash);
	emit_text(call->emit, "function", name->function);
	emit_text(call->emit, "module", api_module(name));
	emit_text(call->emit, "file", line ? line->file : NULL);
	json_u64_or_null(call->emit, "line", line ? line->line : 0, 0);
	err = metrics_emit(function);
	if (err)
		return err;
	portrait_emit(function, portrait);
	err = curve_emit(function);
	if (!err)
		err = side_emit(function, "callers", TREE_BOTTOM_UP);
	if (!err)
		err = side_emit(function, "callees", TREE_TOP_DOWN);
	if (!err)
		lines_emit(function);
	return err;
}

static struct err *run(struct call *call)
{
	struct function function = { .call = call, .metric = call_choice(call, "m") };
	struct err *err;

	call_hash(call, "h", &function.hash);
	err = function_find(&function);
	if (!err)
		err = answer(&function);
	line_vec_deinit(&function.lines);
	return err;
}

static const struct param params[] = {
	{ .name = "h", .kind = PARAM_HASH, .is_required = true, .doc = "the hash of the function" },
	API_PARAM_MEASURE,
	API_PARAM_AT,
};

const struct route route_api_frame = {
	.path = "/api/v1/frame",
	.summary =
		"one function: by every metric, over time, by size and line; callers and callees",
	.answer = "FrameDetail",
	.flags = ROUTE_TAPE | ROUTE_SELECTS,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
