#include "http/api_trees.h"

const char *const api_direction_words[] = { "down", "up", NULL };

/* A span of time without a filter takes two moments, where that is enough. */
static struct err *sums_find(struct call *call, bool may_be_partial, struct sums *sums_ret)
{
	const enum measure measure = (enum measure)call_choice(call, "m");
	const char *filter = call_text(call, "q");
	const bool has_range = call_has(call, "from") || call_has(call, "until");
	const struct selection *selection;
	struct api_range range;
	uint64_t at_ns;
	struct err *err = api_at(call, &at_ns);

	if (!err)
		err = api_range(call, &range);
	if (err)
		return err;
	if (may_be_partial && has_range && !(filter && *filter) &&
	    measure_is_cheap_between(measure))
		return measure_sums_between(call->model, measure, range.from_ns, range.until_ns - 1,
					    call->arena, sums_ret);
	err = api_select(call, &selection);
	return err ? err : measure_sums(selection, measure, at_ns, call->arena, sums_ret);
}

/* The path, below the focus where there is one. */
static struct err *path_find(struct call *call, const char *name, const uint64_t *focus,
			     struct api_tree *tree)
{
	const uint64_t *given;
	uint64_t *path;
	struct err *err = call_path(call, name, &given, &tree->path_count);

	if (err)
		return err;
	tree->path = given;
	if (!focus)
		return NULL;
	path = arena_array(call->arena, tree->path_count + 1, sizeof(*path));
	if (!path)
		return err_nomem();
	path[0] = *focus;
	for (size_t i = 0; i < tree->path_count; i++)
		path[i + 1] = given[i];
	tree->path = path;
	tree->path_count++;
	return NULL;
}

/* With as much of the path as there is: what lies below its end is wanted, even if that came early.
 */
static struct err *build(struct call *call, const struct tree_settings *settings,
			 struct api_tree *tree)
{
	struct tree_settings again = *settings;
	struct err *err = tree_build(&tree->sums, tree->names, settings, call->arena, &tree->tree);

	if (err || tree->tree.path_end == settings->path_count)
		return err;
	again.path_count = tree->tree.path_end;
	again.depth_max = settings->depth_max;
	return tree_build(&tree->sums, tree->names, &again, call->arena, &tree->tree);
}

struct err *api_tree_find(struct call *call, const struct api_tree_settings *settings,
			  struct api_tree *tree_ret)
{
	struct api_tree tree = { 0 };
	struct focus focus;
	uint64_t hash = 0;
	const bool is_focused = settings->has_focus && call_hash(call, "focus", &hash);
	struct tree_settings asked = {
		.direction = call_choice(call, "dir") == 1 ? TREE_BOTTOM_UP : TREE_TOP_DOWN,
		.mode = settings->mode,
		.metric = measure_metric((enum measure)call_choice(call, "m")),
		.share_min = settings->share_min,
		.merges_recursion = settings->merges_recursion,
	};
	struct err *err = call_names(call, &tree.names);

	if (!err)
		err = sums_find(call, settings->may_be_partial, &tree.sums);
	if (!err)
		err = sums_total_up(&tree.sums, call->arena);
	if (!err)
		err = path_find(call, settings->path, is_focused ? &hash : NULL, &tree);
	if (!err && is_focused) {
		err = call_blame(
			call, "focus",
			focus_find_hash(&tree.sums, tree.names, hash, call->arena, &focus));
		asked.focus = &focus;
	}
	if (err)
		return err;
	asked.path = tree.path;
	asked.path_count = tree.path_count;
	asked.depth_max = (uint32_t)u64_min(tree.path_count + settings->depth_max, UINT32_MAX);
	tree.is_part = tree.path_count > 0;
	err = build(call, &asked, &tree);
	if (!err)
		*tree_ret = tree;
	return err;
}
