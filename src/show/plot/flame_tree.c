/* A tree as a picture. */
#include <assert.h>

#include "plot/flame_parts.h"

uint64_t flame_value_min(uint64_t total)
{
	return total / 20000; /* a sixteenth of a pixel */
}

static void facts_fill(struct flame_picture *picture, const struct tree *tree,
		       const struct names *names)
{
	for (size_t i = 0; i < picture->layout.count; i++) {
		const uint32_t number = picture->layout.frames[i].node;
		const struct tree_node *node = &tree->nodes[number];
		const bool is_root = number == TREE_ROOT;
		const bool is_time = picture->settings->is_time;

		picture->facts[i] = (struct flame_facts) {
			.name = is_root ? &flame_root_name : names_get(names, node->name),
			.file = is_root ? NULL : node->file,
			.line = node->line,
			.calls = metric_calls(tree->metric, &node->total),
			.bytes = metric_bytes(tree->metric, &node->total),
			.self = metric_value(tree->metric, &node->self),
			.sums = is_time ? NULL : &node->total,
		};
	}
}

struct err *flame_svg(const struct tree *tree, const struct names *names,
		      const struct flame_settings *settings, struct str *out)
{
	struct flame_picture picture = {
		.out = out,
		.settings = settings,
		.metric = tree->metric,
		.scale = 1,
	};
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct err *err =
		flame_layout(tree, settings->frames_max ? settings->frames_max : FLAME_FRAMES_MAX,
			     FLAME_DEPTH_MAX, &arena, &picture.layout);

	assert(tree->count >= 1);
	assert((unsigned)tree->metric < METRICS_KEYED);
	if (err)
		return err;
	picture.facts = arena_array(&arena, picture.layout.count + 1, sizeof(*picture.facts));
	if (!picture.facts)
		return err_nomem();
	facts_fill(&picture, tree, names);
	if (tree->pruned_count > 0 || picture.layout.value_min > 1)
		picture.value_min = u64_max(picture.layout.value_min,
					    flame_value_min(picture.layout.frames[0].value));
	return flame_picture_write(&picture);
}
