/*
 * /api/v1/flame: a flame graph with as many boxes as are visible. Columns of equal length; boxes
 * that are too small are merged, so that children never have less than their parent shows
 * (trees/boxes.h).
 */
#include "http/api_boxes.h"
#include "http/api_trees.h"
#include "sums/name_hash.h"
#include "trees/boxes.h"

static const char *const recursion_words[] = { "keep", "merge", NULL };

struct flame {
	const char *m, *unit;
	uint64_t total;
	struct api_boxes boxes;
	struct shape_numbers value, self, begin;
};

static const struct member flame_members[] = {
	MEMBER(struct flame, m, TEXT, "the metric"),
	MEMBER(struct flame, total, PLAIN, "of the metric, of the whole tree"),
	MEMBER(struct flame, unit, TEXT, NULL, .words = api_unit_words),
	MEMBER(struct flame, boxes, FLAT, NULL, .shape = &api_shape_boxes),
	MEMBER(struct flame, value, NUMBERS, "by box: of the metric"),
	MEMBER(struct flame, self, NUMBERS, "by box: what is not its children's"),
	MEMBER(struct flame, begin, NUMBERS, "by box: left edge, in units of value; box 0: 0"),
};
static const struct shape shape_flame = SHAPE("Flame", struct flame, flame_members);

/* --- the boxes ----------------------------------------------------------------------------- */

struct drawn {
	const struct model *model;
	const struct names *names;
	const struct tree *tree;
	struct boxes boxes;
};

static bool is_function(uint32_t node)
{
	return node != TREE_NONE && node != TREE_ROOT;
}

static uint64_t hash_of(const void *context, size_t box)
{
	const struct drawn *drawn = context;
	const uint32_t node = drawn->boxes.items[box].node;

	return name_hash(drawn->model, names_get(drawn->names, drawn->tree->nodes[node].name));
}

static struct api_box box_of(const struct drawn *drawn, const struct box *box)
{
	const struct tree_node *node =
		is_function(box->node) ? &drawn->tree->nodes[box->node] : NULL;
	const struct name *all = box->node == TREE_ROOT ? &api_boxes_all : NULL;

	return (struct api_box) {
		.name = node ? names_get(drawn->names, node->name) : all,
		.parent = box->parent,
		.depth = box->depth,
		.count = box->count,
		.file = node ? node->file : NULL,
		.line = node ? node->line : 0,
	};
}

static struct err *numbers_fill(const struct boxes *boxes, size_t offset, struct arena *arena,
				struct shape_numbers *numbers)
{
	uint64_t *values = arena_array(arena, boxes->count, sizeof(*values));

	if (!values)
		return err_nomem();
	for (size_t i = 0; i < boxes->count; i++)
		values[i] = *(const uint64_t *)((const char *)&boxes->items[i] + offset);
	*numbers = (struct shape_numbers) { values, boxes->count };
	return NULL;
}

static struct err *boxes_fill(const struct drawn *drawn, struct arena *arena, struct flame *flame)
{
	const struct boxes *boxes = &drawn->boxes;
	struct api_box *items = arena_array(arena, boxes->count, sizeof(*items));
	struct err *err;

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < boxes->count; i++)
		items[i] = box_of(drawn, &boxes->items[i]);
	err = api_boxes_fill(items, boxes->count, hash_of, drawn, arena, &flame->boxes);
	if (!err)
		err = numbers_fill(boxes, offsetof(struct box, value), arena, &flame->value);
	if (!err)
		err = numbers_fill(boxes, offsetof(struct box, self), arena, &flame->self);
	if (!err)
		err = numbers_fill(boxes, offsetof(struct box, begin), arena, &flame->begin);
	return err;
}

/* --- the answer ---------------------------------------------------------------------------- */

/*
 * The number of nodes, of which only some were built: calls, from any address, under which
 * something of the metric was allocated. Exact for a completely built tree.
 */
static uint64_t nodes_of(const struct api_tree *found, const struct boxes *boxes)
{
	const struct sums *sums = &found->sums;

	if (found->tree.pruned_count == 0 && !found->is_part)
		return found->tree.count;
	return u64_max(metric_value(found->tree.metric, &sums->used), boxes->count);
}

static struct err *root_fill(const struct api_tree *found, struct arena *arena,
			     struct api_boxes *boxes)
{
	const struct tree *tree = &found->tree;
	const char **names = arena_array(arena, tree->path_end, sizeof(*names));
	const char **briefs = arena_array(arena, tree->path_end, sizeof(*briefs));

	if (!names || !briefs)
		return err_nomem();
	for (uint32_t node = 1; node <= tree->path_end; node++) {
		const struct name *name = names_get(found->names, tree->nodes[node].name);

		names[node - 1] = name->function;
		briefs[node - 1] = name->brief;
	}
	boxes->root_names = (struct shape_texts) { names, tree->path_end };
	boxes->root_briefs = (struct shape_texts) { briefs, tree->path_end };
	boxes->root = (struct shape_numbers) { found->path, tree->path_end };
	return NULL;
}

static struct err *flame_fill(struct call *call, const struct api_tree *found, struct flame *flame)
{
	const struct tree *tree = &found->tree;
	const enum metric metric = (enum metric)call_choice(call, "m");
	struct drawn drawn = { .model = call->model, .names = found->names, .tree = tree };
	struct err *err =
		boxes_make(tree, tree->path_end, API_BOXES_MAX, call->arena, &drawn.boxes);

	if (!err)
		err = boxes_fill(&drawn, call->arena, flame);
	if (!err)
		err = root_fill(found, call->arena, &flame->boxes);
	if (err)
		return err;
	flame->m = metric_words_all[metric];
	flame->unit = api_unit(metric);
	flame->total = metric_value(tree->metric, &tree->nodes[TREE_ROOT].total);
	flame->boxes.of = nodes_of(found, &drawn.boxes);
	return NULL;
}

static struct err *find(struct call *call, void *answer)
{
	const struct api_tree_settings settings = {
		.share_min = (uint32_t)(API_BOXES_PER_PIXEL * call_number(call, "px")),
		.depth_max = API_BOXES_DEPTH_MAX,
		.path = "root",
		.merges_recursion = call_choice(call, "recursion") == 1,
		.mode = api_frames(call),
		.has_hidden = true,
		.has_focus = true,
	};
	struct api_tree found;
	struct err *err = api_tree_find(call, &settings, &found);

	return err ? err : flame_fill(call, &found, answer);
}

static const struct param params[] = {
	API_PARAM_MEASURE,
	API_PARAM_AT,
	API_PARAM_SCAN,
	API_PARAM_DIRECTION,
	API_PARAM_ROOT,
	{ .name = "focus",
	  .kind = PARAM_HASH,
	  .doc = "one function: what it calls (dir=down), who calls it (dir=up)" },
	API_PARAM_PIXELS,
	API_PARAM_FRAMES,
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
	.shape = &shape_flame,
	.flags = ROUTE_TAPE | ROUTE_SELECTS,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
