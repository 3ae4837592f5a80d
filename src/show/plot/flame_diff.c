/* Two tapes, or two moments, as a picture. */
#include <assert.h>

#include "compare/diff_boxes.h"
#include "plot/flame_parts.h"

enum { PARTS = 1000 }; /* values divided by units of work are drawn in thousandths */

static uint64_t scaled(const struct flame_picture *picture, double value)
{
	return (uint64_t)(value * (double)picture->scale + 0.5);
}

static const struct name *name_of(const struct diff_tree *tree, uint32_t node)
{
	return node == DIFF_ROOT ? &flame_root_name : diff_tree_name(tree, node);
}

/* Pages are shared: they must not contain users' folders. */
static const char *file_of(const struct flame_picture *picture, const struct diff_node *node)
{
	return node->file && picture->settings->is_part ? names_short_path(node->file) : node->file;
}

/* Frames too small to be drawn alone are left out: the footer says so. */
static void frame_fill(struct flame_picture *picture, const struct diff_tree *tree,
		       const struct diff_box *box, const uint32_t *frame_of)
{
	struct flame_layout *layout = &picture->layout;
	const struct diff_node *node = &tree->nodes[box->node];

	picture->facts[layout->count] = (struct flame_facts) {
		.name = name_of(tree, box->node),
		.file = box->node == DIFF_ROOT ? NULL : file_of(picture, node),
		.line = node->line,
		.calls = node->calls[DIFF_B],
		.self = scaled(picture, box->self),
		.before = scaled(picture, box->values[DIFF_A]),
		.after = scaled(picture, box->values[DIFF_B]),
	};
	layout->frames[layout->count++] = (struct flame_frame) {
		.node = box->node,
		.parent = box->parent == UINT32_MAX ? UINT32_MAX : frame_of[box->parent],
		.depth = box->depth,
		.begin = scaled(picture, box->begin),
		.value = scaled(picture, box->width),
	};
	layout->depth_max = (uint32_t)u64_max(layout->depth_max, box->depth);
}

static struct err *layout_make(struct flame_picture *picture, const struct diff_tree *tree,
			       const struct diff_boxes *boxes, struct arena *arena)
{
	CLEAN(free) uint32_t *frame_of = calloc(boxes->count, sizeof(*frame_of));

	picture->layout.frames = arena_array(arena, boxes->count, sizeof(*picture->layout.frames));
	picture->facts = arena_array(arena, boxes->count, sizeof(*picture->facts));
	if (!frame_of || !picture->layout.frames || !picture->facts)
		return err_nomem();
	for (size_t i = 0; i < boxes->count; i++) {
		frame_of[i] = (uint32_t)picture->layout.count;
		if (boxes->items[i].node != DIFF_NONE)
			frame_fill(picture, tree, &boxes->items[i], frame_of);
		else
			picture->value_min = u64_max(scaled(picture, boxes->width_min), 1);
	}
	return NULL;
}

struct err *flame_diff_svg(const struct diff_tree *tree, const struct flame_settings *settings,
			   struct str *out)
{
	const bool is_divided = tree->sides[DIFF_A].units > 1 || tree->sides[DIFF_B].units > 1;
	const struct diff_boxes_settings wanted = {
		.share_min = 20000, /* a sixteenth of a pixel */
		.count_max = settings->frames_max ? settings->frames_max : FLAME_FRAMES_MAX,
		.depth_max = FLAME_DEPTH_MAX,
	};
	struct flame_picture picture = {
		.out = out,
		.settings = settings,
		.metric = tree->metric,
		.is_diff = true,
		.scale = is_divided ? PARTS : 1,
	};
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct diff_boxes boxes;
	struct err *err = diff_boxes_make(tree, &wanted, &arena, &boxes);

	assert(tree->count >= 1);
	assert(tree->sides[DIFF_A].units >= 1 && tree->sides[DIFF_B].units >= 1);
	if (!err)
		err = layout_make(&picture, tree, &boxes, &arena);
	return err ? err : flame_picture_write(&picture);
}
