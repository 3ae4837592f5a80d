/*
 * Chrome's trace events (JSON), for Perfetto, chrome://tracing and others: counters of live bytes,
 * live blocks and resident memory, and the program's marks. Stacks are not included.
 *
 * A counter's value holds until the next one. There are as many as a screen can show.
 */
#include <inttypes.h>

#include "export/moments.h"
#include "export/text_file.h"

enum { SPANS = 2000, NS_PER_US = 1000 };

struct trace {
	const struct export_context *context;
	struct text_file file;
	const char *before; /* separator before the next event */
};

/* Up to and including the time, which is in microseconds. */
static void event_begin(struct trace *trace, const char *phase, uint64_t tid, uint64_t ns)
{
	struct str *text = &trace->file.text;

	str_add(text, trace->before);
	trace->before = ",\n";
	str_printf(text, "{\"ph\":\"%s\",\"pid\":%u,\"tid\":%" PRIu64 ",\"ts\":", phase,
		   model_process(trace->context->model)->pid, tid);
	str_add_ratio(text, ns, NS_PER_US, 3);
	text_file_step(&trace->file);
}

static void counter_write(struct trace *trace, uint64_t ns, const char *name, const char *unit,
			  uint64_t value)
{
	event_begin(trace, "C", 0, ns);
	text_file_json(&trace->file, ",\"name\":", name);
	text_file_json(&trace->file, ",\"args\":{", unit);
	text_file_u64(&trace->file, ":", value);
	str_add(&trace->file.text, "}}");
}

static void name_write(struct trace *trace, const char *what, uint64_t tid, const char *name)
{
	event_begin(trace, "M", tid, 0);
	text_file_json(&trace->file, ",\"name\":", what);
	text_file_json(&trace->file, ",\"args\":{\"name\":", name);
	str_add(&trace->file.text, "}}");
}

static void names_write(struct trace *trace)
{
	const struct model *model = trace->context->model;

	name_write(trace, "process_name", 0, names_short_path(model_process(model)->exe));
	for (size_t i = 0; i < model_thread_count(model); i++) {
		const struct model_thread *thread = model_thread(model, i);

		if (*thread->name)
			name_write(trace, "thread_name", thread->tid, thread->name);
	}
}

static void usages_write(struct trace *trace)
{
	const struct model *model = trace->context->model;

	for (size_t i = 0; i < model_usage_count(model); i++) {
		const struct model_usage *usage = &model_usages(model)[i];

		if (usage->usage.rss_bytes != UINT64_MAX)
			counter_write(trace, usage->ns, "resident memory", "bytes",
				      usage->usage.rss_bytes);
	}
}

static void marks_write(struct trace *trace)
{
	const struct model *model = trace->context->model;

	for (size_t i = 0; i < model_note_count(model); i++) {
		const struct model_note *note = &model_notes(model)[i];

		if (note->type != TAPE_EXT_MARK)
			continue;
		event_begin(trace, "i",
			    note->thread == MODEL_NO_THREAD
				    ? model_process(model)->pid
				    : model_thread(model, note->thread)->tid,
			    note->ns);
		text_file_json(&trace->file, ",\"s\":\"p\",\"cat\":\"mark\",\"name\":", note->text);
		str_add_char(&trace->file.text, '}');
	}
}

static struct err *trace_event_write(const struct export_context *context, FILE *out)
{
	struct trace trace = { .context = context, .file = { .out = out }, .before = "\n" };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct moments moments = { 0 };
	struct err *err = moments_find(context, SPANS, &arena, &moments);

	if (err)
		return err;
	str_add(&trace.file.text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
	names_write(&trace);
	for (size_t i = 0; i < moments.count; i++) {
		const struct export_moment *moment = &moments.items[i];

		counter_write(&trace, moment->ns, "live heap", "bytes", moment->bytes);
		if (moment->count != UINT64_MAX)
			counter_write(&trace, moment->ns, "live blocks", "count", moment->count);
	}
	usages_write(&trace);
	marks_write(&trace);
	str_add(&trace.file.text, "\n]}\n");
	return text_file_end(&trace.file);
}

const struct export_format export_trace_event = {
	.name = "trace-event",
	.summary = "curves and marks as Chrome's trace events, for Perfetto",
	.suffix = ".trace.json",
	.kind = EXPORT_COURSE,
	.depth = MODEL_SUMMARY,
	.write = trace_event_write,
};
