/*
 * /api/v1/diff/flame: two tapes, or two moments of one, as one flame graph; columns as those of
 * /api/v1/flame. A box is as wide as its stacks where they are larger (compare/diff_tree.h).
 */
#include "base/map.h"
#include "compare/diff_boxes.h"
#include "http/api_boxes.h"
#include "http/api_diff_sides.h"
#include "sums/name_hash.h"

static const struct param params[] = {
	API_PARAMS_DIFF,
	API_PARAM_ROOT,
	API_PARAM_PIXELS,
};

struct columns {
	struct call *call;
	const struct diff_tree *tree;
	const struct diff_boxes *boxes;
	struct map place_of; /* of a name, in the table, and 1 */
	uint32_t *shown;     /* nodes that have the names, by place */
	size_t shown_count;
	struct interner modules;
	int32_t *numbers; /* room for one a box */
	double *values;
};

static void columns_deinit(struct columns *columns)
{
	map_deinit(&columns->place_of);
	interner_deinit(&columns->modules);
}

CLEAN_DEFINE_DEINIT(columns_deinit, struct columns);

static struct err *columns_init(struct columns *columns)
{
	const size_t count = columns->boxes->count;
	struct arena *arena = columns->call->arena;

	columns->shown = arena_array(arena, count + 1, sizeof(*columns->shown));
	columns->numbers = arena_array(arena, count + 1, sizeof(*columns->numbers));
	columns->values = arena_array(arena, count + 1, sizeof(*columns->values));
	return columns->shown && columns->numbers && columns->values ? NULL : err_nomem();
}

static const struct name *name_of(const struct columns *columns, uint32_t node)
{
	static const struct name all = { .function = "all", .module = "", .module_short = "" };

	return node == DIFF_ROOT ? &all : diff_tree_name(columns->tree, node);
}

static struct err *places_find(struct columns *columns)
{
	for (size_t i = 0; i < columns->boxes->count; i++) {
		const uint32_t node = columns->boxes->items[i].node;
		uint64_t *place;

		columns->numbers[i] = -1;
		if (node == DIFF_NONE)
			continue;
		place = map_put(&columns->place_of, (uintptr_t)name_of(columns, node), NULL);
		if (!place)
			return err_nomem();
		if (*place == 0) {
			columns->shown[columns->shown_count++] = node;
			*place = columns->shown_count;
		}
		columns->numbers[i] = (int32_t)*place - 1;
	}
	return NULL;
}

static struct err *names_emit(struct columns *columns)
{
	const size_t count = columns->shown_count;
	struct arena *arena = columns->call->arena;
	const char **texts = arena_array(arena, count + 1, sizeof(*texts));
	uint64_t *hashes = arena_array(arena, count + 1, sizeof(*hashes));
	int32_t *modules = arena_array(arena, count + 1, sizeof(*modules));
	uint8_t *roles = arena_array(arena, count + 1, sizeof(*roles));
	struct emit *emit = columns->call->emit;

	if (!texts || !hashes || !modules || !roles)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const uint32_t node = columns->shown[i];
		const struct name *name = name_of(columns, node);
		const char *module = api_module(name);

		texts[i] = name->function;
		roles[i] = (uint8_t)name->role;
		hashes[i] = node == DIFF_ROOT ? 0 : diff_tree_hash(columns->tree, node);
		modules[i] = -1;
		if (module)
			modules[i] =
				(int32_t)interner_put(&columns->modules, module, strlen(module));
	}
	json_texts(emit, "names", texts, count);
	json_texts(emit, "modules", columns->modules.texts, columns->modules.count);
	json_hashes(emit, "hashes", hashes, count);
	json_i32s(emit, "name_module", modules, count);
	json_u8s(emit, "role", roles, count);
	json_i32s(emit, "name", columns->numbers, columns->boxes->count);
	return NULL;
}

/* Integers, unless they are for one of several units of work. */
static void doubles_emit(struct columns *columns, const char *key, size_t offset)
{
	const struct diff_side *sides = columns->tree->sides;
	const bool is_divided = sides[DIFF_A].units > 1 || sides[DIFF_B].units > 1;

	for (size_t i = 0; i < columns->boxes->count; i++)
		columns->values[i] =
			*(const double *)((const char *)&columns->boxes->items[i] + offset);
	json_doubles(columns->call->emit, key, columns->values, columns->boxes->count,
		     is_divided ? 3 : 0);
}

static void links_emit(struct columns *columns)
{
	const struct diff_boxes *boxes = columns->boxes;
	struct emit *emit = columns->call->emit;

	for (size_t i = 0; i < boxes->count; i++)
		columns->numbers[i] =
			boxes->items[i].parent == UINT32_MAX ? -1 : (int32_t)boxes->items[i].parent;
	json_i32s(emit, "parent", columns->numbers, boxes->count);
	for (size_t i = 0; i < boxes->count; i++)
		columns->numbers[i] = (int32_t)boxes->items[i].depth;
	json_i32s(emit, "depth", columns->numbers, boxes->count);
}

static struct err *places_emit(struct columns *columns)
{
	const struct diff_boxes *boxes = columns->boxes;
	const char **files = arena_array(columns->call->arena, boxes->count + 1, sizeof(*files));
	uint64_t *counts = arena_array(columns->call->arena, boxes->count + 1, sizeof(*counts));

	if (!files || !counts)
		return err_nomem();
	for (size_t i = 0; i < boxes->count; i++) {
		const uint32_t node = boxes->items[i].node;
		const bool is_function = node != DIFF_NONE && node != DIFF_ROOT;

		counts[i] = boxes->items[i].count;
		files[i] = is_function ? columns->tree->nodes[node].file : NULL;
		columns->numbers[i] = is_function ? (int32_t)columns->tree->nodes[node].line : 0;
	}
	json_texts(columns->call->emit, "file", files, boxes->count);
	json_i32s(columns->call->emit, "line", columns->numbers, boxes->count);
	json_u64s(columns->call->emit, "count", counts, boxes->count);
	return NULL;
}

static struct err *boxes_emit(struct columns *columns)
{
	struct err *err = places_find(columns);

	if (!err)
		err = names_emit(columns);
	if (err)
		return err;
	doubles_emit(columns, "value", offsetof(struct diff_box, width));
	doubles_emit(columns, "self", offsetof(struct diff_box, self));
	doubles_emit(columns, "begin", offsetof(struct diff_box, begin));
	doubles_emit(columns, "before", offsetof(struct diff_box, values[DIFF_A]));
	doubles_emit(columns, "after", offsetof(struct diff_box, values[DIFF_B]));
	links_emit(columns);
	return places_emit(columns);
}

static void root_emit(struct call *call, const struct diff_tree *tree, uint32_t root)
{
	const uint32_t depth = tree->nodes[root].depth;
	uint64_t *hashes = arena_array(call->arena, (size_t)depth + 1, sizeof(*hashes));
	const char **names = arena_array(call->arena, (size_t)depth + 1, sizeof(*names));

	if (!hashes || !names) {
		emit_fail(call->emit);
		return;
	}
	for (uint32_t at = root; at != DIFF_ROOT; at = tree->nodes[at].parent) {
		hashes[tree->nodes[at].depth - 1] = diff_tree_hash(tree, at);
		names[tree->nodes[at].depth - 1] = diff_tree_name(tree, at)->function;
	}
	json_hashes(call->emit, "root", hashes, depth);
	json_texts(call->emit, "root_names", names, depth);
}

static struct err *answer(struct call *call, const struct api_diff_sides *sides,
			  const struct diff_tree *tree)
{
	struct diff_boxes boxes;
	CLEAN(columns_deinit)
	struct columns columns = { .call = call, .tree = tree, .boxes = &boxes };
	struct diff_boxes_settings settings = {
		.share_min = API_BOXES_PER_PIXEL * call_number(call, "px"),
		.count_max = API_BOXES_MAX,
		.depth_max = API_BOXES_DEPTH_MAX,
	};
	const uint64_t *path;
	size_t path_count;
	struct err *err = call_path(call, "root", &path, &path_count);

	if (err)
		return err;
	settings.first = diff_tree_find(tree, path, path_count);
	err = diff_boxes_make(tree, &settings, call->arena, &boxes);
	if (!err)
		err = columns_init(&columns);
	if (err)
		return err;
	api_diff_sides_emit(call, sides);
	api_diff_value(call->emit, "total", tree->nodes[DIFF_ROOT].width);
	root_emit(call, tree, settings.first);
	emit_u64(call->emit, "boxes", boxes.count, EMIT_COUNT);
	emit_u64(call->emit, "of", tree->count, EMIT_COUNT);
	return boxes_emit(&columns);
}

static struct err *run(struct call *call)
{
	CLEAN(api_diff_sides_close) struct api_diff_sides sides;
	struct diff_tree tree;
	struct err *err = api_diff_sides_open(call, &sides);

	if (!err)
		err = diff_tree_build(sides.sides, sides.mode, sides.metric, call->arena, &tree);
	return err ? err : answer(call, &sides, &tree);
}

const struct route route_api_diff_flame = {
	.path = "/api/v1/diff/flame",
	.summary = "two tapes, or two moments of one, as one flame graph",
	.answer = "DiffFlame",
	.flags = ROUTE_TAPE | ROUTE_SELECTS | ROUTE_UNCACHED,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
