#include "http/api_trees.h"

#include "sums/scans.h"

const char *const api_direction_words[] = { "down", "up", NULL };

struct wanted {
	const struct selection *selection;
	struct measure measure;
};

/* Sums of the metric and their totals, unless they are the selection's own. */
static struct err *kept_make(struct call *call, void *context, struct arena *arena,
			     const void **value_ret)
{
	const struct wanted *wanted = context;
	struct sums *sums = arena_new(arena, struct sums);
	struct err *err =
		sums ? measure_sums(wanted->selection, &wanted->measure, arena, sums) : err_nomem();

	(void)call;
	if (!err)
		err = sums_total_up(sums, arena);
	if (!err)
		*value_ret = sums;
	return err;
}

/* What the sums depend on besides the metric: its moment or scan. */
static uint64_t moment_of(const struct measure *measure)
{
	if (measure->metric == METRIC_RETAINED)
		return measure->scan;
	return measure->metric == METRIC_LIVE ? measure->at_ns : 0;
}

/* Opening a branch requests the same sums again. */
static struct err *sums_find(struct call *call, struct api_tree *tree)
{
	struct wanted wanted = { 0 };
	const struct measure *measure = &wanted.measure;
	CLEAN(str_deinit) struct str key = { 0 };
	const struct sums *kept;
	const void *value;
	bool is_selected;
	struct err *err = api_measure(call, &wanted.measure);

	if (!err && measure->metric == METRIC_RETAINED)
		err = scan_choose(call->model, measure->scan, &tree->scan);
	if (!err)
		err = api_select(call, &wanted.selection);
	if (err)
		return err;
	is_selected = metric_is_member(measure->metric);
	if (is_selected && wanted.selection->sums.totals) {
		tree->sums = wanted.selection->sums;
		return NULL;
	}
	str_printf(&key, "totals of %s at %llu of ",
		   is_selected ? "it" : metric_words_all[measure->metric],
		   (unsigned long long)moment_of(measure));
	call_part_key(call, &key);
	if (key.failed)
		return err_nomem();
	err = call_keep(call, str_text(&key), kept_make, &wanted, &value);
	if (err)
		return err;
	kept = value;
	tree->sums = *kept;
	/* what it was made of may have been dropped since */
	if (is_selected)
		tree->sums.stacks = wanted.selection->sums.stacks;
	return NULL;
}

/* The path, below the focus if there is one. */
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

/* With as much of the path as exists: the subtree at its end is wanted, even if that is early. */
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

/* NULL: nothing. */
static struct err *hidden_find(struct call *call, struct walk_hidden *hidden,
			       const struct walk_hidden **hidden_ret)
{
	struct err *err = call_path(call, "hide", &hidden->functions, &hidden->function_count);
	const char *modules = call_text(call, "hide_modules");

	hidden->modules = modules ? modules : "";
	if (!err && (hidden->function_count > 0 || *hidden->modules))
		*hidden_ret = hidden;
	return err;
}

struct err *api_tree_find(struct call *call, const struct api_tree_settings *settings,
			  struct api_tree *tree_ret)
{
	struct api_tree tree = { 0 };
	struct focus focus;
	struct walk_hidden hidden;
	uint64_t hash = 0;
	const bool is_focused = settings->has_focus && call_hash(call, "focus", &hash);
	struct tree_settings asked = {
		.direction = call_choice(call, "dir") == 1 ? TREE_BOTTOM_UP : TREE_TOP_DOWN,
		.mode = settings->mode,
		.metric = (enum metric)call_choice(call, "m"),
		.share_min = settings->share_min,
		.merges_recursion = settings->merges_recursion,
	};
	struct err *err = call_names(call, &tree.names);

	if (!err)
		err = sums_find(call, &tree);
	if (!err && settings->has_hidden)
		err = hidden_find(call, &hidden, &asked.hidden);
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
