/*
 * /api/v1/export: a tape as a file of another tool, as `memtape export` writes it.
 */
#include "export/export.h"

#include "http/api_parts.h"
#include "select/sums_rows.h"
#include "sums/scans.h"

static const struct param params[] = {
	{ .name = "to",
	  .kind = PARAM_TEXT,
	  .is_required = true,
	  .doc = "the format, as `memtape export --list` has it" },
	{ .name = "at",
	  .kind = PARAM_MOMENT,
	  .doc = "what was alive then, of formats that are sums",
	  .missing = "the whole run" },
	{ .name = "m",
	  .kind = PARAM_CHOICE,
	  .words = metric_words_stacks,
	  .fallback = METRIC_PEAK,
	  .doc = "what is written, of formats that have one number a stack",
	  .missing = "peak" },
	API_PARAM_SCAN,
	{ .name = "frames",
	  .kind = PARAM_CHOICE,
	  .words = walk_mode_words,
	  .fallback = WALK_EXACT,
	  .doc = "frames that stacks have: my: of the user's own code; exact: all but allocators "
		 "and program start; all",
	  .missing = "exact" },
};

static struct err *format_choose(struct call *call, const struct export_format **format_ret)
{
	const char *name = call_text(call, "to");
	CLEAN(str_deinit) struct str known = { 0 };

	*format_ret = export_find(name);
	if (*format_ret)
		return NULL;
	for (const struct export_format *const *at = export_table; *at; at++)
		str_printf(&known, "%s%s", at == export_table ? "" : ", ", (*at)->name);
	return call_blame(call, "to",
			  err_new(ERR_USAGE, "unknown format '%.64s'; expected one of %s", name,
				  str_text(&known)));
}

static struct err *retained_choose(struct call *call, const struct selection *selection,
				   struct export_context *context)
{
	const struct measure measure = { .metric = METRIC_RETAINED,
					 .scan = call_number(call, "scan") };
	struct err *err = call_blame(call, measure.scan ? "scan" : "m",
				     scan_choose(call->model, measure.scan, &context->scan));

	return err ? err : measure_sums(selection, &measure, call->arena, &context->sums);
}

/* Sums of the selection, or at the requested moment: NULL if none. */
static struct err *sums_choose(struct call *call, const struct export_format *format,
			       const struct selection *selection, uint64_t *ns,
			       struct export_context *context)
{
	struct err *err = call_blame(
		call, "m", export_metric_check(format, context->metric, call_has(call, "at")));

	if (err)
		return err;
	if (context->metric == METRIC_RETAINED)
		return retained_choose(call, selection, context);
	if (metric_is_seen(context->metric))
		return call_blame(call, "m",
				  measure_sums(selection,
					       &(struct measure) { .metric = context->metric },
					       call->arena, &context->sums));
	context->sums = selection->sums;
	if (!call_has(call, "at"))
		return NULL;
	err = call_blame(call, "at", export_at_check(format));
	if (!err)
		err = call_moment(call, "at", 0, ns);
	if (err)
		return err;
	context->at_ns = ns;
	return sums_at(call->model, selection, *ns, call->arena, &context->sums);
}

static struct err *run(struct call *call)
{
	CLEAN(names_destroy) struct names *names = NULL;
	const struct selection *selection = NULL;
	const struct export_format *format = NULL;
	struct export_context context = {
		.tape_path = call->tape->source->path,
		.model = call->model,
		.metric = metric_of_stacks(call_choice(call, "m")),
		.mode = (enum walk_mode)call_choice(call, "frames"),
	};
	uint64_t at_ns = 0;
	struct err *err = format_choose(call, &format);

	if (!err)
		err = call_names_view(call, &names);
	if (!err)
		err = call_select_with(call, format->has_alive ? CALL_ALIVE : CALL_LEAKS,
				       &selection);
	if (!err)
		err = sums_choose(call, format, selection, &at_ns, &context);
	if (err)
		return err;
	call->type = "application/octet-stream";
	call->file_name = api_file_name(call, format->name);
	context.names = names;
	context.selection = selection;
	return format->write(&context, call->out);
}

const struct route route_api_export = {
	.path = "/api/v1/export",
	.summary = "a tape as a file of another tool",
	.type = "application/octet-stream",
	.flags = ROUTE_SELECTS | ROUTE_FILE,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
