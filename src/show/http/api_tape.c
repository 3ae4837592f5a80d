/*
 * /api/v1/tape: what one tape is: its threads, modules and marks.
 */
#include "http/api_tapes.h"
#include "http/call.h"

static void emit_threads(struct emit *emit, const struct model *model)
{
	emit_list(emit, "threads");
	for (size_t i = 0; i < model_thread_count(model); i++) {
		const struct model_thread *thread = model_thread(model, i);

		emit_object(emit, NULL);
		emit_u64(emit, "tid", thread->tid, EMIT_PLAIN);
		emit_text(emit, "name", thread->name);
		emit_u64(emit, "index", i, EMIT_PLAIN);
		emit_end(emit);
	}
	emit_end(emit);
}

/* Stacks whose innermost frame is in each module. */
static uint64_t *count_stacks(struct call *call)
{
	const size_t module_count = model_module_count(call->model);
	const struct capture_stack *stacks = model_stacks(call->model);
	uint64_t *counts = arena_array(call->arena, module_count + 1, sizeof(*counts));

	for (size_t i = CAPTURE_STACK_FIRST; counts && i < model_stack_count(call->model); i++) {
		if (stacks[i].module < module_count)
			counts[stacks[i].module]++;
	}
	return counts;
}

static void emit_module(struct emit *emit, const struct model *model, const struct names *names,
			size_t index, uint64_t stack_count)
{
	static const char *const words[] = {
		[SYMBOL_UNREAD] = "unread",   [SYMBOL_LINES] = "lines",
		[SYMBOL_NAMES] = "functions", [SYMBOL_EXPORTS] = "exported",
		[SYMBOL_NONE] = "none",	      [SYMBOL_MISSING] = "gone",
		[SYMBOL_STALE] = "changed",   [SYMBOL_VIRTUAL] = "kernel",
	};
	const struct capture_module *module = model_module(model, index);
	const char *path = names_module_path(names, index);
	CLEAN(str_deinit) struct str id = { 0 };

	for (size_t i = 0; i < module->build_id_bytes; i++)
		str_printf(&id, "%02x", module->build_id[i]);
	emit_object(emit, NULL);
	emit_text(emit, "path", path);
	emit_text(emit, "name", names_short_path(path));
	emit_text(emit, "build_id", id.len ? id.ptr : NULL);
	emit_text(emit, "symbols", words[names_module_state(names, index)]);
	emit_u64(emit, "stacks", stack_count, EMIT_COUNT);
	emit_end(emit);
}

static void emit_marks(struct emit *emit, const struct model *model)
{
	const struct model_note *notes = model_notes(model);

	emit_list(emit, "marks");
	for (size_t i = 0; i < model_note_count(model); i++) {
		if (notes[i].type != TAPE_EXT_MARK)
			continue;
		emit_object(emit, NULL);
		emit_u64(emit, "ns", notes[i].ns, EMIT_DURATION);
		emit_text(emit, "text", notes[i].text);
		emit_end(emit);
	}
	emit_end(emit);
}

static void emit_rss_peak(struct emit *emit, const struct model *model)
{
	const struct model_usage *usages = model_usages(model), *most = NULL;

	for (size_t i = 0; i < model_usage_count(model); i++) {
		if (usages[i].usage.rss_bytes != UINT64_MAX &&
		    (!most || usages[i].usage.rss_bytes > most->usage.rss_bytes))
			most = &usages[i];
	}
	json_u64_or_null(emit, "rss_peak_ns", most ? most->ns : UINT64_MAX, UINT64_MAX);
}

static struct err *run(struct call *call)
{
	const uint64_t *stack_counts = count_stacks(call);
	struct names *names = NULL;
	struct err *err = stack_counts ? call_names(call, &names) : err_nomem();

	if (err)
		return err;
	api_tape_emit_reading(call->emit, "tape", call->tape, call->loaded);
	emit_threads(call->emit, call->model);
	emit_list(call->emit, "modules");
	for (size_t i = 0; i < model_module_count(call->model); i++)
		emit_module(call->emit, call->model, names, i, stack_counts[i]);
	emit_end(call->emit);
	emit_marks(call->emit, call->model);
	emit_u64(call->emit, "peak_ns", model_totals(call->model)->peak_ns, EMIT_DURATION);
	emit_rss_peak(call->emit, call->model);
	return NULL;
}

const struct route route_api_tape = {
	.path = "/api/v1/tape",
	.summary = "what one tape is: its threads, modules and marks",
	.answer = "TapeDetail",
	.flags = ROUTE_TAPE,
	.run = run,
};
