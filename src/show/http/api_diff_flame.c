/*
 * /api/v1/diff/flame: two tapes, or two moments of one, as one flame graph; columns as in
 * /api/v1/flame. A box is as wide as the larger value of each of its stacks (compare/diff_tree.h).
 */
#include "compare/diff_boxes.h"
#include "http/api_boxes.h"
#include "http/api_diff_sides.h"

static const struct param params[] = {
	API_PARAMS_DIFF,
	API_PARAM_ROOT,
	API_PARAM_PIXELS,
};

struct diff_flame {
	const char *m, *unit;
	const struct diff_side_value *sides[DIFF_SIDES];
	double total;
	struct api_boxes boxes;
	struct shape_ratios value, self, begin, before, after;
};

static const struct member flame_members[] = {
	MEMBER(struct diff_flame, m, TEXT, "the metric"),
	MEMBER(struct diff_flame, unit, TEXT, NULL, .words = api_unit_words),
	MEMBER_AS("a", struct diff_flame, sides[DIFF_A], OBJECT, NULL, .shape = &shape_diff_side),
	MEMBER_AS("b", struct diff_flame, sides[DIFF_B], OBJECT, NULL, .shape = &shape_diff_side),
	MEMBER(struct diff_flame, total, AMOUNT, "how wide all is"),
	MEMBER(struct diff_flame, boxes, FLAT, NULL, .shape = &api_shape_boxes),
	MEMBER(struct diff_flame, value, RATIOS, "by box: how wide it is"),
	MEMBER(struct diff_flame, self, RATIOS, "by box: what is not its children's"),
	MEMBER(struct diff_flame, begin, RATIOS, "by box: left edge; box 0: 0"),
	MEMBER(struct diff_flame, before, RATIOS, "by box: of the metric, of A"),
	MEMBER(struct diff_flame, after, RATIOS, "by box: of the metric, of B"),
};
static const struct shape shape_flame = SHAPE("DiffFlame", struct diff_flame, flame_members);

struct drawn {
	const struct diff_tree *tree;
	struct diff_boxes boxes;
};

static bool is_function(uint32_t node)
{
	return node != DIFF_NONE && node != DIFF_ROOT;
}

static uint64_t hash_of(const void *context, size_t box)
{
	const struct drawn *drawn = context;

	return diff_tree_hash(drawn->tree, drawn->boxes.items[box].node);
}

static struct api_box box_of(const struct diff_tree *tree, const struct diff_box *box)
{
	const struct name *all = box->node == DIFF_ROOT ? &api_boxes_all : NULL;

	return (struct api_box) {
		.name = is_function(box->node) ? diff_tree_name(tree, box->node) : all,
		.parent = box->parent,
		.depth = box->depth,
		.count = box->count,
		.file = is_function(box->node) ? tree->nodes[box->node].file : NULL,
		.line = is_function(box->node) ? tree->nodes[box->node].line : 0,
	};
}

/* Integers, unless divided by one of several units of work. */
static struct err *ratios_fill(const struct drawn *drawn, size_t offset, struct arena *arena,
			       struct shape_ratios *ratios)
{
	const struct diff_side *sides = drawn->tree->sides;
	const bool is_divided = sides[DIFF_A].units > 1 || sides[DIFF_B].units > 1;
	double *values = arena_array(arena, drawn->boxes.count, sizeof(*values));

	if (!values)
		return err_nomem();
	for (size_t i = 0; i < drawn->boxes.count; i++)
		values[i] = *(const double *)((const char *)&drawn->boxes.items[i] + offset);
	*ratios = (struct shape_ratios) { values, drawn->boxes.count, is_divided ? 3 : 0 };
	return NULL;
}

static struct err *boxes_fill(const struct drawn *drawn, struct arena *arena,
			      struct diff_flame *flame)
{
	const struct {
		struct shape_ratios *ratios;
		size_t offset;
	} columns[] = {
		{ &flame->value, offsetof(struct diff_box, width) },
		{ &flame->self, offsetof(struct diff_box, self) },
		{ &flame->begin, offsetof(struct diff_box, begin) },
		{ &flame->before, offsetof(struct diff_box, values[DIFF_A]) },
		{ &flame->after, offsetof(struct diff_box, values[DIFF_B]) },
	};
	const size_t count = drawn->boxes.count;
	struct api_box *items = arena_array(arena, count, sizeof(*items));
	struct err *err = NULL;

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		items[i] = box_of(drawn->tree, &drawn->boxes.items[i]);
	for (size_t i = 0; i < array_size(columns) && !err; i++)
		err = ratios_fill(drawn, columns[i].offset, arena, columns[i].ratios);
	return err ? err : api_boxes_fill(items, count, hash_of, drawn, arena, &flame->boxes);
}

static struct err *root_fill(const struct diff_tree *tree, uint32_t root, struct arena *arena,
			     struct api_boxes *boxes)
{
	const uint32_t depth = tree->nodes[root].depth;
	uint64_t *hashes = arena_array(arena, depth, sizeof(*hashes));
	const char **names = arena_array(arena, depth, sizeof(*names));
	const char **briefs = arena_array(arena, depth, sizeof(*briefs));

	if (!hashes || !names || !briefs)
		return err_nomem();
	for (uint32_t at = root; at != DIFF_ROOT; at = tree->nodes[at].parent) {
		hashes[tree->nodes[at].depth - 1] = diff_tree_hash(tree, at);
		names[tree->nodes[at].depth - 1] = diff_tree_name(tree, at)->function;
		briefs[tree->nodes[at].depth - 1] = diff_tree_name(tree, at)->brief;
	}
	boxes->root = (struct shape_numbers) { hashes, depth };
	boxes->root_names = (struct shape_texts) { names, depth };
	boxes->root_briefs = (struct shape_texts) { briefs, depth };
	return NULL;
}

static struct err *flame_fill(struct call *call, const struct diff_tree *tree,
			      struct diff_flame *flame)
{
	struct drawn drawn = { .tree = tree };
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
	err = diff_boxes_make(tree, &settings, call->arena, &drawn.boxes);
	if (!err)
		err = boxes_fill(&drawn, call->arena, flame);
	flame->total = tree->nodes[DIFF_ROOT].width;
	flame->boxes.of = tree->count;
	return err ? err : root_fill(tree, settings.first, call->arena, &flame->boxes);
}

static struct err *sides_fill(struct call *call, const struct api_diff_sides *sides,
			      struct diff_flame *flame)
{
	struct diff_found *found = arena_new(call->arena, struct diff_found);
	struct err *err = found ? NULL : err_nomem();

	if (found)
		*found = diff_begin(sides->subjects, &sides->settings);
	for (unsigned side = 0; side < DIFF_SIDES && !err; side++)
		err = diff_side_value(found, side, call->arena, &flame->sides[side]);
	flame->m = metric_words_all[sides->asked];
	flame->unit = api_unit(sides->asked);
	return err;
}

static struct err *find(struct call *call, void *answer)
{
	struct api_diff_sides *sides;
	struct diff_found *found = arena_new(call->arena, struct diff_found);
	struct diff_tree *tree = arena_new(call->arena, struct diff_tree);
	struct err *err = found && tree ? api_diff_sides_find(call, &sides) : err_nomem();

	if (err)
		return err;
	*found = diff_begin(sides->subjects, &sides->settings);
	err = diff_tree_build(found->sides, sides->settings.mode, sides->settings.metric,
			      call->arena, tree);
	if (!err)
		err = sides_fill(call, sides, answer);
	return err ? err : flame_fill(call, tree, answer);
}

const struct route route_api_diff_flame = {
	.path = "/api/v1/diff/flame",
	.summary = "two tapes, or two moments of one, as one flame graph",
	.shape = &shape_flame,
	.flags = ROUTE_TAPE | ROUTE_SELECTS | ROUTE_UNCACHED,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
