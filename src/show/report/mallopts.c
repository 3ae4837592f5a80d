/*
 * mallopts: how the program tuned its allocator: mallopt and malloc_trim, with their results.
 */
#include "report/moment.h"
#include "report/note.h"
#include "report/table.h"

#include <malloc.h>

static const struct emit_column columns[] = {
	{ .key = "ns", .title = "time" },
	{ .key = "thread", .title = "thread" },
	{ .key = "function", .title = "call", .left = true },
	{ .key = "parameter", .title = "parameter", .left = true },
	{ .key = "value", .title = "value" },
	{ .key = "result", .title = "result" },
	{ .key = "stack", .title = "called from", .left = true, .elastic = true },
};

/* NULL: no parameter of this libc or any other we know. */
static const char *parameter_name(int64_t key)
{
	static const struct {
		int64_t key;
		const char *name;
	} names[] = {
		{ M_MXFAST, "M_MXFAST" },
		{ M_NLBLKS, "M_NLBLKS" },
		{ M_GRAIN, "M_GRAIN" },
		{ M_KEEP, "M_KEEP" },
		{ M_TRIM_THRESHOLD, "M_TRIM_THRESHOLD" },
		{ M_TOP_PAD, "M_TOP_PAD" },
		{ M_MMAP_THRESHOLD, "M_MMAP_THRESHOLD" },
		{ M_MMAP_MAX, "M_MMAP_MAX" },
		{ M_CHECK_ACTION, "M_CHECK_ACTION" },
		{ M_PERTURB, "M_PERTURB" },
		{ M_ARENA_TEST, "M_ARENA_TEST" },
		{ M_ARENA_MAX, "M_ARENA_MAX" },
	};

	for (size_t i = 0; i < array_size(names); i++)
		if (names[i].key == key)
			return names[i].name;
	return NULL;
}

static void emit_parameter(struct emit *emit, const struct model_note *note)
{
	CLEAN(str_deinit) struct str words = { 0 };

	if (note->type == TAPE_EXT_MALLOC_TRIM) {
		emit_text(emit, "parameter", "pad");
		return;
	}
	if (parameter_name(note->setting.key))
		str_add(&words, parameter_name(note->setting.key));
	else
		str_add_i64(&words, note->setting.key);
	emit_text(emit, "parameter", str_text(&words));
}

static void emit_setting(struct emit *emit, const struct report_context *context,
			 const struct model_note *note)
{
	emit_row(emit);
	emit_u64(emit, "ns", note->ns, EMIT_DURATION);
	note_thread(emit, "thread", context->model, note->thread);
	emit_text(emit, "function", note->type == TAPE_EXT_MALLOPT ? "mallopt" : "malloc_trim");
	emit_parameter(emit, note);
	emit_i64(emit, "value", note->setting.value);
	emit_i64(emit, "result", note->setting.result);
	note_stack(emit, context, note->stack);
	emit_end(emit);
}

static struct err *run(const struct report_context *context, FILE *out)
{
	const struct model *model = context->model;
	const uint64_t top = context->settings->top ? context->settings->top : UINT64_MAX;
	uint64_t shown = 0, from_ns = 0, until_ns = 0;
	struct table table;
	struct err *err = report_window_rows(context, &from_ns, &until_ns);

	if (!err)
		err = table_begin(&table, context, out, "mallopts", columns, array_size(columns));
	if (err)
		return err;
	for (size_t i = 0; i < model_note_count(model) && shown < top; i++) {
		const struct model_note *note = &model_notes(model)[i];

		if (note->type != TAPE_EXT_MALLOPT && note->type != TAPE_EXT_MALLOC_TRIM)
			continue;
		if (note->ns < from_ns || note->ns > until_ns)
			continue;
		emit_setting(table.emit, context, note);
		shown++;
	}
	if (shown == 0)
		table.remark = context->has_window
				       ? "The program called neither mallopt nor malloc_trim then."
				       : "The program called neither mallopt nor malloc_trim.";
	return table_end(&table);
}

const struct report report_mallopts = {
	.name = "mallopts",
	.summary = "calls that tuned the allocator: mallopt and malloc_trim",
	.depth = MODEL_SUMMARY,
	.has_window = true,
	.instead = "--from and --until choose by time",
	.run = run,
};
