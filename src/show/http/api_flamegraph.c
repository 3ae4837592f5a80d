/*
 * /api/v1/export/flamegraph.svg: the picture drawn by `memtape flamegraph`.
 */
#include "http/api_trees.h"
#include "model/import.h"
#include "plot/flame_tape.h"

static const struct param params[] = {
	API_PARAM_MEASURE,
	API_PARAM_AT,
	API_PARAM_SCAN,
	API_PARAM_DIRECTION,
	{ .name = "root", .kind = PARAM_PATH, .doc = "only what is below these functions" },
	{ .name = "icicle", .kind = PARAM_FLAG, .doc = "the root on top", .missing = "0" },
	API_PARAM_FRAMES,
};

static void titles_add(struct call *call, const struct api_tree *found, struct str *title,
		       struct str *subtitle)
{
	const struct model_process *process = model_process(call->model);
	const char *filter = call_text(call, "q");

	flame_add_title(title, found->tree.metric, model_goes_on(call->model),
			metric_value(found->tree.metric, &found->sums.total));
	str_add(subtitle, names_short_path(process->exe));
	str_printf(subtitle, " · pid %u · ran ", process->pid);
	str_add_duration(subtitle, process->duration_ns);
	flame_add_scan(subtitle, found->scan);
	if (filter && *filter)
		str_printf(subtitle, " · only %s", filter);
}

static struct err *run(struct call *call)
{
	const struct api_tree_settings settings = {
		.path = "root",
		.depth_max = FLAME_DEPTH_MAX + 1,
		.share_min = FLAME_FRAMES_MAX,
		.mode = api_frames(call),
	};
	CLEAN(str_deinit) struct str title = { 0 };
	CLEAN(str_deinit) struct str subtitle = { 0 };
	CLEAN(str_deinit) struct str svg = { 0 };
	struct api_tree found = { 0 };
	struct err *err = api_tree_find(call, &settings, &found);

	if (err)
		return err;
	titles_add(call, &found, &title, &subtitle);
	err = flame_svg(&found.tree, found.names,
			&(struct flame_settings) {
				.title = str_text(&title),
				.subtitle = str_text(&subtitle),
				.is_icicle = call_flag(call, "icicle"),
				.is_inverted = call_choice(call, "dir") == TREE_BOTTOM_UP,
				.goes_on = model_goes_on(call->model),
			},
			&svg);
	if (!err && fwrite(str_text(&svg), 1, svg.len, call->out) != svg.len)
		err = err_errno("write");
	call->file_name = "flamegraph.svg";
	return err;
}

const struct route route_api_flamegraph = {
	.path = "/api/v1/export/flamegraph.svg",
	.summary = "the picture that `memtape flamegraph` draws",
	.type = "image/svg+xml",
	.flags = ROUTE_SELECTS | ROUTE_RAW,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
