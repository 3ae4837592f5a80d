/*
 * marks: the moments that the program named itself, and what was alive then.
 */
#include "report/moment.h"
#include "report/note.h"
#include "report/table.h"

static const struct emit_column columns[] = {
	{ .key = "ns", .title = "time" },
	{ .key = "thread", .title = "thread" },
	{ .key = "name", .title = "mark", .left = true },
	{ .key = "live_bytes", .title = "live" },
	{ .key = "live_count", .title = "blocks" },
	{ .key = "rss_bytes", .title = "resident" },
	{ .key = "stack", .title = "called from", .left = true, .elastic = true },
};

/* What was alive at a moment, over all stacks: what happens at it has happened. */
static struct model_sum live_at(const struct model *model, uint64_t ns,
				struct model_stack_moment *moments)
{
	struct model_sum live = { 0 };

	model_stack_moments(model, ns + 1, moments);
	for (size_t i = 0; i < model_stack_count(model); i++) {
		live.count += moments[i].allocated.count - moments[i].freed.count;
		live.bytes += moments[i].allocated.bytes - moments[i].freed.bytes;
	}
	return live;
}

/* The newest sample of resident bytes up to this time; UINT64_MAX: none. */
static uint64_t rss_at(const struct model *model, uint64_t ns)
{
	uint64_t rss = UINT64_MAX;

	for (size_t i = 0; i < model_usage_count(model) && model_usages(model)[i].ns <= ns; i++)
		if (model_usages(model)[i].usage.rss_bytes != UINT64_MAX)
			rss = model_usages(model)[i].usage.rss_bytes;
	return rss;
}

static void emit_mark(struct emit *emit, const struct report_context *context,
		      const struct model_note *note, struct model_stack_moment *moments)
{
	const struct model_sum live = live_at(context->model, note->ns, moments);
	const uint64_t rss = rss_at(context->model, note->ns);

	emit_row(emit);
	emit_u64(emit, "ns", note->ns, EMIT_DURATION);
	note_thread(emit, "thread", context->model, note->thread);
	emit_text(emit, "name", note->text);
	emit_u64(emit, "kind", note->mark.kind, EMIT_PLAIN);
	emit_u64(emit, "live_bytes", live.bytes, EMIT_BYTES);
	emit_u64(emit, "live_count", live.count, EMIT_COUNT);
	if (rss == UINT64_MAX)
		emit_null(emit, "rss_bytes");
	else
		emit_u64(emit, "rss_bytes", rss, EMIT_BYTES);
	note_stack(emit, context, note->stack);
	emit_end(emit);
}

static struct err *run(const struct report_context *context, FILE *out)
{
	const struct model *model = context->model;
	const uint64_t top = context->settings->top ? context->settings->top : UINT64_MAX;
	uint64_t shown = 0, from_ns = 0, until_ns = 0;
	struct model_stack_moment *moments =
		arena_array(context->arena, model_stack_count(model), sizeof(*moments));
	struct table table;
	struct err *err = moments ? NULL : err_nomem();

	if (!err)
		err = report_window_rows(context, &from_ns, &until_ns);
	if (!err)
		err = table_begin(&table, context, out, "marks", columns, array_size(columns));
	if (err)
		return err;
	for (size_t i = 0; i < model_note_count(model) && shown < top; i++) {
		const struct model_note *note = &model_notes(model)[i];

		if (note->type != TAPE_EXT_MARK || note->ns < from_ns || note->ns > until_ns)
			continue;
		emit_mark(table.emit, context, note, moments);
		shown++;
	}
	if (shown == 0)
		table.remark = context->has_window ? "The program set no marks in that time."
						   : "The program set no marks; it does with "
						     "memtape_mark(3).";
	return table_end(&table);
}

const struct report report_marks = {
	.name = "marks",
	.summary = "the moments that the program named, and what was alive then",
	.depth = MODEL_FULL,
	.has_window = true,
	.instead = "--from and --until choose by time",
	.run = run,
};
