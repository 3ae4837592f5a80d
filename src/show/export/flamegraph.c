/*
 * The interactive flame graph (SVG) with default settings. `memtape flamegraph` has options.
 */
#include "export/export.h"
#include "plot/flame_tape.h"

static struct err *flamegraph_write(const struct export_context *context, FILE *out)
{
	const struct selection *selection = context->selection;
	CLEAN(str_deinit) struct str moment = { 0 };
	CLEAN(str_deinit) struct str part = { 0 };
	CLEAN(str_deinit) struct str svg = { 0 };
	struct flame_tape tape = {
		.sums = &context->sums,
		.names = context->names,
		.metric = context->metric,
		.scan = context->scan,
		.mode = context->mode,
		.peak_ns = selection->peak_ns,
	};
	struct err *err;

	if (context->at_ns) {
		str_add_duration(&moment, *context->at_ns);
		tape.moment = str_text(&moment);
	}
	if (!selection_is_all(selection)) {
		str_add(&part, " · drawn: ");
		str_add_grouped(&part, selection->count);
		str_add(&part, " of them");
		tape.part = str_text(&part);
	}
	err = flame_tape_svg(&tape, &svg);
	if (!err && fwrite(str_text(&svg), 1, svg.len, out) != svg.len)
		err = err_errno("write");
	return err;
}

const struct export_format export_flamegraph = {
	.name = "flamegraph",
	.summary = "an interactive picture (SVG) for any browser",
	.suffix = ".svg",
	.kind = EXPORT_SUMS,
	.has_metric = true,
	.depth = MODEL_SUMMARY,
	.write = flamegraph_write,
};
