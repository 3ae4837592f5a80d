/*
 * /data/<id>/export/flamegraph: a viewable flame graph of bytes allocated.
 */
#include "http/bytehound/data_filter.h"
#include "plot/flame.h"

static void titles_add(struct call *call, const struct selection *selection, struct str *title,
		       struct str *subtitle)
{
	const struct model_process *process = model_process(call->model);

	str_add(title, "Allocated: ");
	str_add_iec(title, selection->sums.total.allocated.bytes);
	str_add(subtitle, names_short_path(process->exe));
	str_printf(subtitle, " · pid %u · ", process->pid);
	str_add_grouped(subtitle, selection->sums.total.allocated.count);
	str_add(subtitle, selection_is_all(selection) ? " allocations" : " allocations chosen of ");
	if (!selection_is_all(selection))
		str_add_grouped(subtitle, model_totals(call->model)->allocated.count);
}

static struct err *draw(struct call *call, const struct selection *selection, struct names *names,
			struct str *svg)
{
	const struct tree_settings settings = {
		.mode = WALK_EXACT,
		.metric = METRIC_ALLOCATED,
		.depth_max = FLAME_DEPTH_MAX + 1,
		.value_min = flame_value_min(selection->sums.total.allocated.bytes),
	};
	CLEAN(str_deinit) struct str title = { 0 };
	CLEAN(str_deinit) struct str subtitle = { 0 };
	struct tree tree;
	struct err *err = tree_build(&selection->sums, names, &settings, call->arena, &tree);

	if (err)
		return err;
	titles_add(call, selection, &title, &subtitle);
	return flame_svg(&tree, names,
			 &(struct flame_settings) {
				 .title = str_text(&title),
				 .subtitle = str_text(&subtitle),
			 },
			 svg);
}

static struct err *run(struct call *call)
{
	CLEAN(str_deinit) struct str svg = { 0 };
	const struct selection *selection;
	struct names *names;
	struct err *err = data_select(call, &selection);

	if (!err)
		err = call_names(call, &names);
	if (!err)
		err = draw(call, selection, names, &svg);
	if (!err && fwrite(str_text(&svg), 1, svg.len, call->out) != svg.len)
		err = err_errno("write");
	return err;
}

static const struct param params[] = { DATA_FILTER_PARAMS };

const struct route route_data_flamegraph = {
	.path = "/data/{c}/export/flamegraph",
	.summary = "bytes allocated, as an interactive flame graph",
	.type = "image/svg+xml",
	.flags = ROUTE_TAPE | ROUTE_RAW | ROUTE_LENIENT,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
