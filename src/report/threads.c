#include "base/sort.h"
#include "report/table.h"

static const struct emit_column columns[] = {
	{ .key = "tid", .title = "tid" },
	{ .key = "name", .title = "name", .left = true },
	{ .key = "allocated_count", .title = "allocations" },
	{ .key = "allocated_bytes", .title = "allocated" },
	{ .key = "peak_bytes", .title = "at peak" },
	{ .key = "leaked_count", .title = "leaked" },
	{ .key = "leaked_bytes", .title = "bytes" },
	{ .key = "temporary_count", .title = "temporary" },
	{ .key = "free_count", .title = "frees" },
	{ .key = "foreign_free_count", .title = "of others'" },
	{ .key = "begin_ns", .title = "began" },
	{ .key = "end_ns", .title = "ended" },
};

static uint64_t thread_value(const struct model_thread *thread, enum metric metric)
{
	const struct model_stack_sums sums = { thread->allocated, thread->peak, thread->leaked,
					       thread->temporary };

	return metric_value(metric, &sums);
}

static void emit_thread(struct emit *emit, const struct model_thread *thread)
{
	emit_row(emit);
	emit_u64(emit, "tid", thread->tid, EMIT_PLAIN);
	emit_text(emit, "name", thread->name);
	emit_u64(emit, "allocated_count", thread->allocated.count, EMIT_COUNT);
	emit_u64(emit, "allocated_bytes", thread->allocated.bytes, EMIT_BYTES);
	emit_u64(emit, "peak_count", thread->peak.count, EMIT_COUNT);
	emit_u64(emit, "peak_bytes", thread->peak.bytes, EMIT_BYTES);
	emit_u64(emit, "leaked_count", thread->leaked.count, EMIT_COUNT);
	emit_u64(emit, "leaked_bytes", thread->leaked.bytes, EMIT_BYTES);
	emit_u64(emit, "temporary_count", thread->temporary.count, EMIT_COUNT);
	emit_u64(emit, "free_count", thread->free_count, EMIT_COUNT);
	emit_u64(emit, "foreign_free_count", thread->foreign_free_count, EMIT_COUNT);
	emit_u64(emit, "begin_ns", thread->begin_ns, EMIT_DURATION);
	if (thread->end_ns == MODEL_NEVER)
		emit_null(emit, "end_ns");
	else
		emit_u64(emit, "end_ns", thread->end_ns, EMIT_DURATION);
	emit_end(emit);
}

static struct err *run(const struct report_context *context, FILE *out)
{
	const struct report_settings *settings = context->settings;
	const size_t count = model_thread_count(context->model);
	const size_t shown = settings->top ? u64_min(settings->top, count) : count;
	CLEAN(free) struct sort_pair *order = calloc(count + 1, sizeof(*order));
	struct table table;
	struct err *err;

	if (!order)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		/* Ascending order of the complement: most first. */
		order[i].key = settings->has_sort ? ~thread_value(model_thread(context->model, i),
								  settings->sort)
						  : i;
		order[i].index = (uint32_t)i;
	}
	if (!sort_pairs(order, count))
		return err_nomem();
	err = table_begin(&table, context, out, "threads", columns, array_size(columns));
	if (err)
		return err;
	for (size_t i = 0; i < shown; i++)
		emit_thread(table.emit, model_thread(context->model, order[i].index));
	return table_end(&table);
}

const struct report report_threads = {
	.name = "threads",
	.summary = "what each thread allocated and freed",
	.depth = MODEL_SUMMARY,
	.run = run,
};
