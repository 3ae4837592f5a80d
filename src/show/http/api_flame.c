/*
 * /api/v1/flame: a flame graph, as many boxes as can be seen. Columns of equal length; what is too
 * small is joined, so that children never have less than their parent shows (trees/boxes.h).
 */
#include "http/api_boxes.h"
#include "http/api_trees.h"
#include "sums/name_hash.h"
#include "trees/boxes.h"

static const char *const recursion_words[] = { "keep", "merge", NULL };

/* --- the table of names -------------------------------------------------------------------- */

struct columns {
	struct call *call;
	struct names *names;
	const struct tree *tree;
	const struct boxes *boxes;
	uint32_t *index_of; /* by name: its place in the table and 1; 0: none yet */
	uint32_t *shown;    /* names, by place; UINT32_MAX: of all, which is no function */
	size_t shown_count;
	struct interner modules;
};

static struct err *columns_init(struct columns *columns, struct call *call, struct names *names,
				const struct tree *tree, const struct boxes *boxes)
{
	*columns = (struct columns) { .call = call, .names = names, .tree = tree, .boxes = boxes };
	columns->index_of =
		arena_array(call->arena, names_count(names), sizeof(*columns->index_of));
	columns->shown = arena_array(call->arena, boxes->count + 1, sizeof(*columns->shown));
	return columns->index_of && columns->shown ? NULL : err_nomem();
}

static int32_t name_place(struct columns *columns, const struct box *box)
{
	uint32_t name;

	if (box->node == TREE_NONE)
		return -1;
	if (box->node == TREE_ROOT) {
		columns->shown[columns->shown_count] = UINT32_MAX;
		return (int32_t)columns->shown_count++;
	}
	name = columns->tree->nodes[box->node].name;
	if (columns->index_of[name] == 0) {
		columns->shown[columns->shown_count++] = name;
		columns->index_of[name] = (uint32_t)columns->shown_count;
	}
	return (int32_t)columns->index_of[name] - 1;
}

static const struct name *shown_name(const struct columns *columns, size_t place)
{
	static const struct name all = { .function = "all", .module = "", .module_short = "" };

	return columns->shown[place] == UINT32_MAX
		       ? &all
		       : names_get(columns->names, columns->shown[place]);
}

static struct err *names_emit(struct columns *columns)
{
	const size_t count = columns->shown_count;
	struct arena *arena = columns->call->arena;
	const char **texts = arena_array(arena, count, sizeof(*texts));
	uint64_t *hashes = arena_array(arena, count, sizeof(*hashes));
	int32_t *modules = arena_array(arena, count, sizeof(*modules));
	uint8_t *roles = arena_array(arena, count, sizeof(*roles));
	struct emit *emit = columns->call->emit;

	if (!texts || !hashes || !modules || !roles)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const struct name *name = shown_name(columns, i);
		const char *module = api_module(name);

		texts[i] = name->function;
		roles[i] = (uint8_t)name->role;
		modules[i] = -1;
		if (columns->shown[i] != UINT32_MAX)
			hashes[i] = name_hash(columns->call->model, name);
		if (module)
			modules[i] =
				(int32_t)interner_put(&columns->modules, module, strlen(module));
	}
	json_texts(emit, "names", texts, count);
	json_texts(emit, "modules", columns->modules.texts, columns->modules.count);
	json_hashes(emit, "hashes", hashes, count);
	json_i32s(emit, "name_module", modules, count);
	json_u8s(emit, "role", roles, count);
	return NULL;
}

/* --- the boxes ----------------------------------------------------------------------------- */

static void u64s_emit(const struct columns *columns, const char *key, size_t offset,
		      uint64_t *values)
{
	for (size_t i = 0; i < columns->boxes->count; i++)
		values[i] = *(const uint64_t *)((const char *)&columns->boxes->items[i] + offset);
	json_u64s(columns->call->emit, key, values, columns->boxes->count);
}

static void links_emit(const struct columns *columns, int32_t *values)
{
	const struct boxes *boxes = columns->boxes;

	for (size_t i = 0; i < boxes->count; i++)
		values[i] =
			boxes->items[i].parent == UINT32_MAX ? -1 : (int32_t)boxes->items[i].parent;
	json_i32s(columns->call->emit, "parent", values, boxes->count);
	for (size_t i = 0; i < boxes->count; i++)
		values[i] = (int32_t)boxes->items[i].depth;
	json_i32s(columns->call->emit, "depth", values, boxes->count);
}

static void places_emit(const struct columns *columns, const char **files, int32_t *lines)
{
	const struct boxes *boxes = columns->boxes;

	for (size_t i = 0; i < boxes->count; i++) {
		const uint32_t node = boxes->items[i].node;
		const bool is_function = node != TREE_NONE && node != TREE_ROOT;

		files[i] = is_function ? columns->tree->nodes[node].file : NULL;
		lines[i] = is_function ? (int32_t)columns->tree->nodes[node].line : 0;
	}
	json_texts(columns->call->emit, "file", files, boxes->count);
	json_i32s(columns->call->emit, "line", lines, boxes->count);
}

static struct err *boxes_emit(struct columns *columns)
{
	const size_t count = columns->boxes->count;
	struct arena *arena = columns->call->arena;
	int32_t *numbers = arena_array(arena, count, sizeof(*numbers));
	uint64_t *values = arena_array(arena, count, sizeof(*values));
	const char **files = arena_array(arena, count, sizeof(*files));
	struct err *err;

	if (!numbers || !values || !files)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		numbers[i] = name_place(columns, &columns->boxes->items[i]);
	err = names_emit(columns);
	if (err)
		return err;
	json_i32s(columns->call->emit, "name", numbers, count);
	u64s_emit(columns, "value", offsetof(struct box, value), values);
	u64s_emit(columns, "self", offsetof(struct box, self), values);
	u64s_emit(columns, "begin", offsetof(struct box, begin), values);
	u64s_emit(columns, "count", offsetof(struct box, count), values);
	links_emit(columns, numbers);
	places_emit(columns, files, numbers);
	return NULL;
}

/* --- the answer ---------------------------------------------------------------------------- */

/*
 * How many nodes there are, of whom only some were built: calls, from whatever address, that
 * something of the metric was allocated in. Of a tree that was built whole it is exact.
 */
static uint64_t nodes_of(const struct api_tree *found, const struct boxes *boxes)
{
	const struct sums *sums = &found->sums;

	if (found->tree.pruned_count == 0 && !found->is_part)
		return found->tree.count;
	return u64_max(metric_value(found->tree.metric, &sums->used), boxes->count);
}

static struct err *answer(struct call *call, const struct api_tree *found)
{
	const struct tree *tree = &found->tree;
	const enum metric metric = (enum metric)call_choice(call, "m");
	struct boxes boxes;
	struct columns columns;
	struct err *err = boxes_make(tree, tree->path_end, API_BOXES_MAX, call->arena, &boxes);

	if (!err)
		err = columns_init(&columns, call, found->names, tree, &boxes);
	if (err)
		return err;
	emit_text(call->emit, "m", metric_words_all[metric]);
	emit_u64(call->emit, "total", metric_value(tree->metric, &tree->nodes[TREE_ROOT].total),
		 EMIT_BYTES);
	emit_text(call->emit, "unit", metric_is_bytes(metric) ? "bytes" : "count");
	json_hashes(call->emit, "root", found->path, tree->path_end);
	emit_list(call->emit, "root_names");
	for (uint32_t node = 1; node <= tree->path_end; node++)
		emit_text(call->emit, NULL,
			  names_get(found->names, tree->nodes[node].name)->function);
	emit_end(call->emit);
	emit_u64(call->emit, "boxes", boxes.count, EMIT_COUNT);
	emit_u64(call->emit, "of", nodes_of(found, &boxes), EMIT_COUNT);
	err = boxes_emit(&columns);
	interner_deinit(&columns.modules);
	return err;
}

static struct err *run(struct call *call)
{
	const struct api_tree_settings settings = {
		.share_min = (uint32_t)(API_BOXES_PER_PIXEL * call_number(call, "px")),
		.depth_max = API_BOXES_DEPTH_MAX,
		.path = "root",
		.merges_recursion = call_choice(call, "recursion") == 1,
		.mode = call_flag(call, "fold") ? WALK_FOLD : WALK_ALL,
		.has_hidden = true,
		.has_focus = true,
	};
	struct api_tree found;
	struct err *err = api_tree_find(call, &settings, &found);

	return err ? err : answer(call, &found);
}

static const struct param params[] = {
	API_PARAM_MEASURE,
	API_PARAM_AT,
	API_PARAM_DIRECTION,
	API_PARAM_ROOT,
	{ .name = "focus",
	  .kind = PARAM_HASH,
	  .doc = "one function: what it calls (dir=down), who calls it (dir=up)" },
	API_PARAM_PIXELS,
	{ .name = "fold",
	  .kind = PARAM_FLAG,
	  .fallback = 1,
	  .doc = "whether the machinery of allocation and of program start is left out",
	  .missing = "1" },
	{ .name = "hide",
	  .kind = PARAM_PATH,
	  .doc = "functions that have no box: what is in them belongs to their callers" },
	{ .name = "hide_modules",
	  .kind = PARAM_TEXT,
	  .doc = "modules whose functions have none: short names, with / between" },
	{ .name = "recursion",
	  .kind = PARAM_CHOICE,
	  .words = recursion_words,
	  .doc = "whether a function is one box however often a stack comes back to it",
	  .missing = "keep" },
};

const struct route route_api_flame = {
	.path = "/api/v1/flame",
	.summary = "a flame graph of what is selected",
	.answer = "Flame",
	.flags = ROUTE_TAPE | ROUTE_SELECTS,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
