/* Tables of the process: threads, modules, calls, and a summary in one row. */
#include "select/passes.h"
#include "sql/sql_table.h"

/* --- threads ------------------------------------------------------------------------------- */

static const struct sql_column thread_columns[] = {
	{ "id", SQL_KEY, 0, "number of the thread, as in allocations" },
	{ "tid", 0, 0, "the kernel's number" },
	{ "name", SQL_TEXTUAL, 0, "the last it had" },
	{ "begin_ns", 0, 0, "its first sign of life, since recording began" },
	{ "end_ns", 0, 0, "NULL: it ran to the end" },
	SQL_SUM_COLUMNS("", "allocations by it"),
	{ "free_count", 0, 0, "frees by it, of anyone's blocks" },
	{ "foreign_free_count", 0, 0, "of them: blocks that another thread had allocated" },
	{ "stack_bytes", 0, 0, "that its stack may have; NULL: no limit, or not known" },
	{ "stack_used_bytes", 0, 0, "how far down it was used; NULL: not known" },
	{ "stack_known", SQL_TEXTUAL, 0, "pages: those touched; events: at least, by calls seen" },
};

/* Suppressions are known by stack: sums by thread need a pass over the rows. */
static struct err *threads_find_leaks(struct sql_context *context)
{
	CLEAN(free) struct pass_rows *rows = NULL;
	uint64_t threads[MODEL_BATCH];
	struct model_sum *by_thread;
	struct pass pass;

	if (!context->suppressed || context->thread_suppressed)
		return NULL;
	by_thread = arena_array(&context->arena, model_thread_count(context->model) + 1,
				sizeof(*by_thread));
	rows = malloc(sizeof(*rows));
	if (!by_thread || !rows)
		return err_nomem();
	pass = pass_begin(context->model, NULL);
	while (pass_next(&pass)) {
		struct err *err = sql_context_check(context);

		if (err)
			return err;
		pass_rows_read(&pass, rows);
		pass_read(&pass, MODEL_THREAD, threads);
		for (size_t i = 0; i < pass.count; i++) {
			if (!model_never_freed(rows->free_ns[i], rows->flags[i]) ||
			    !suppressed_has(context->suppressed, rows->stack[i]))
				continue;
			by_thread[threads[i]].count++;
			by_thread[threads[i]].bytes += rows->size[i];
		}
	}
	context->thread_suppressed = by_thread;
	return NULL;
}

static struct model_sum thread_leaked(const struct sql_context *context, uint64_t row)
{
	struct model_sum leaked = model_thread(context->model, row)->leaked;

	if (context->thread_suppressed) {
		leaked.count -= context->thread_suppressed[row].count;
		leaked.bytes -= context->thread_suppressed[row].bytes;
	}
	return leaked;
}

static void thread_value(struct sql_context *context, uint64_t row, unsigned column,
			 struct sql_value *value)
{
	const struct model_thread *thread = model_thread(context->model, row);
	const struct model_sum leaked = thread_leaked(context, row);
	const uint64_t values[] = {
		row,
		thread->tid,
		0,
		thread->begin_ns,
		thread->end_ns,
		thread->allocated.count,
		thread->allocated.bytes,
		thread->peak.count,
		thread->peak.bytes,
		leaked.count,
		leaked.bytes,
		thread->temporary.count,
		thread->temporary.bytes,
		thread->free_count,
		thread->foreign_free_count,
		thread->stack_use.reserved_bytes,
		thread->stack_use.used_bytes,
		0,
	};

	static_assert(array_size(values) == array_size(thread_columns), "each has its value");
	if (column == array_size(thread_columns) - 1)
		sql_value_text(value, model_stack_known_word(&thread->stack_use));
	else if (thread_columns[column].flags & SQL_TEXTUAL)
		sql_value_text(value, thread->name[0] ? thread->name : NULL);
	else
		sql_value_unless(value, values[column], MODEL_NEVER);
}

static uint64_t thread_count(const struct sql_context *context)
{
	return model_thread_count(context->model);
}

const struct sql_table sql_threads = {
	.name = "threads",
	.about = "threads, and what each allocated and freed",
	.columns = thread_columns,
	.column_count = array_size(thread_columns),
	.rows_per_key = 1,
	.row_count = thread_count,
	.prepare_leaks = threads_find_leaks,
	.row_value = thread_value,
};

/* --- modules ------------------------------------------------------------------------------- */

enum {
	MODULE_ID,
	MODULE_PATH,
	MODULE_BUILD_ID,
	MODULE_BEGIN,
	MODULE_END,
	MODULE_BIAS,
	MODULE_LOAD_NS,
	MODULE_UNLOAD_NS
};

static const struct sql_column module_columns[] = {
	[MODULE_ID] = { "id", SQL_KEY, 0, "number of the module, as in stacks" },
	[MODULE_PATH] = { "path", SQL_TEXTUAL, 0, "of its file" },
	[MODULE_BUILD_ID] = { "build_id", SQL_TEXTUAL, 0, "hexadecimal" },
	[MODULE_BEGIN] = { "begin_address", 0, 0, "its lowest address" },
	[MODULE_END] = { "end_address", 0, 0, "one past its highest" },
	[MODULE_BIAS] = { "bias", 0, 0, "what to subtract for an address in its file" },
	[MODULE_LOAD_NS] = { "load_ns", 0, 0, "when it was loaded" },
	[MODULE_UNLOAD_NS] = { "unload_ns", 0, 0, "NULL: loaded to the end" },
};

/* NULL: none, or no memory. */
static const char *build_id_text(struct sql_context *context, const struct capture_module *module)
{
	static const char digits[] = "0123456789abcdef";
	char *text;

	if (module->build_id_bytes == 0)
		return NULL;
	text = arena_array(&context->arena, module->build_id_bytes + 1, 2);
	for (size_t i = 0; i < module->build_id_bytes && text; i++) {
		text[2 * i] = digits[module->build_id[i] >> 4];
		text[2 * i + 1] = digits[module->build_id[i] & 15];
	}
	return text;
}

static void module_value(struct sql_context *context, uint64_t row, unsigned column,
			 struct sql_value *value)
{
	const struct capture_module *module = model_module(context->model, row);

	switch (column) {
	case MODULE_ID:
		sql_value_u64(value, row);
		break;
	case MODULE_PATH:
		sql_value_text(value, module->path);
		break;
	case MODULE_BUILD_ID:
		sql_value_text(value, build_id_text(context, module));
		break;
	case MODULE_BEGIN:
		sql_value_u64(value, module->begin);
		break;
	case MODULE_END:
		sql_value_u64(value, module->end);
		break;
	case MODULE_BIAS:
		sql_value_u64(value, module->bias);
		break;
	case MODULE_LOAD_NS:
		sql_value_u64(value, model_ns(context->model, module->load_ticks));
		break;
	default:
		if (module->unload_ticks != UINT64_MAX)
			sql_value_u64(value, model_ns(context->model, module->unload_ticks));
		break;
	}
}

static uint64_t module_count(const struct sql_context *context)
{
	return model_module_count(context->model);
}

const struct sql_table sql_modules = {
	.name = "modules",
	.about = "the program, its libraries and when they were loaded",
	.columns = module_columns,
	.column_count = array_size(module_columns),
	.rows_per_key = 1,
	.row_count = module_count,
	.row_value = module_value,
};

/* --- calls --------------------------------------------------------------------------------- */

enum { CALL_ID, CALL_NAME, CALL_CALLS, CALL_BYTES, CALL_FAILED };

static const struct sql_column call_columns[] = {
	[CALL_ID] = { "id", SQL_KEY, 0, "its number on the tape" },
	[CALL_NAME] = { "call", SQL_TEXTUAL, 0, "malloc, operator delete ..." },
	[CALL_CALLS] = { "calls", 0, 0, "how often it was called" },
	[CALL_BYTES] = { "bytes", 0, 0, "requested, or given back" },
	[CALL_FAILED] = { "failed", 0, 0, "calls that returned no block" },
};

static bool call_is_row(const struct sql_context *context, uint64_t row)
{
	const struct model_function *function = &model_functions(context->model)[row];

	return function->calls > 0 || function->failed > 0;
}

static void call_value(struct sql_context *context, uint64_t row, unsigned column,
		       struct sql_value *value)
{
	const struct model_function *function = &model_functions(context->model)[row];
	const uint64_t values[] = { row, 0, function->calls, function->bytes, function->failed };

	if (column == CALL_NAME)
		sql_value_text(value, tape_fn_name((enum tape_fn)row));
	else
		sql_value_u64(value, values[column]);
}

static uint64_t call_count(const struct sql_context *context)
{
	(void)context;
	return TAPE_FN_COUNT;
}

const struct sql_table sql_calls = {
	.name = "calls",
	.about = "how often malloc, free and the like were called",
	.columns = call_columns,
	.column_count = array_size(call_columns),
	.rows_per_key = 1,
	.row_count = call_count,
	.is_row = call_is_row,
	.row_value = call_value,
};

/* --- summary ------------------------------------------------------------------------------- */

static const struct sql_column summary_columns[] = {
	{ "exe", SQL_TEXTUAL, 0, "path of the program" },
	{ "pid", 0, 0, "of the process" },
	{ "start_realtime_ns", 0, 0, "when recording began, since 1970" },
	{ "duration_ns", 0, 0, "from the beginning of recording to its last record" },
	{ "allocated_count", 0, 0, "allocations" },
	{ "allocated_bytes", 0, 0, "requested by them" },
	{ "freed_count", 0, 0, "frees of blocks that are known to have been allocated" },
	{ "freed_bytes", 0, 0, "requested by those" },
	{ "leaked_count", SQL_LEAKS, 0, "blocks never freed, and not suppressed" },
	{ "leaked_bytes", SQL_LEAKS, 0, "requested by those" },
	{ "suppressed_count", SQL_LEAKS, 0, "blocks never freed, as a suppression says" },
	{ "suppressed_bytes", SQL_LEAKS, 0, "requested by those" },
	{ "temporary_count", 0, 0, "freed before their thread's next allocation" },
	{ "temporary_bytes", 0, 0, "requested by those" },
	{ "peak_count", 0, 0, "blocks alive when live bytes were highest" },
	{ "peak_bytes", 0, 0, "requested by those" },
	{ "peak_ns", 0, 0, "when that was" },
	{ "usable_bytes", 0, 0, "bytes the allocator gave for all allocations" },
	{ "realloc_count", 0, 0, "reallocs of a live block" },
	{ "failed_count", 0, 0, "calls that returned no block" },
	{ "unknown_free_count", 0, 0, "frees of blocks never seen allocated" },
	{ "lost_free_count", 0, 0, "blocks that must have been freed unseen" },
	{ "null_free_count", 0, 0, "calls of free(NULL)" },
	{ "truncated_stack_count", 0, 0, "events whose stack ends in the unknown" },
	{ "lost_event_count", 0, 0, "events that could not be recorded" },
	{ "tape_bytes", 0, 0, "size of the tape" },
};

static void summary_value(struct sql_context *context, uint64_t row, unsigned column,
			  struct sql_value *value)
{
	const struct model_process *process = model_process(context->model);
	const struct model_totals *totals = model_totals(context->model);
	const struct model_quality *quality = model_quality(context->model);
	const struct suppressed *suppressed = context->suppressed;
	const struct model_sum leaked = suppressed ? suppressed->sums.total.leaked : totals->leaked;
	const uint64_t values[] = {
		0,
		process->pid,
		process->start_realtime_ns,
		process->duration_ns,
		totals->allocated.count,
		totals->allocated.bytes,
		totals->freed.count,
		totals->freed.bytes,
		leaked.count,
		leaked.bytes,
		suppressed ? suppressed->leaks.total.count : 0,
		suppressed ? suppressed->leaks.total.bytes : 0,
		totals->temporary.count,
		totals->temporary.bytes,
		totals->peak.count,
		totals->peak.bytes,
		totals->peak_ns,
		totals->usable_bytes,
		totals->realloc_count,
		totals->failed_count,
		totals->unknown_free_count,
		totals->lost_free_count,
		totals->free_null_count,
		totals->truncated_stack_count,
		quality->lost_events,
		quality->tape_bytes,
	};

	static_assert(array_size(values) == array_size(summary_columns), "each has its value");
	(void)row;
	if (summary_columns[column].flags & SQL_TEXTUAL)
		sql_value_text(value, process->exe[0] ? process->exe : NULL);
	else
		sql_value_u64(value, values[column]);
}

static uint64_t one_row(const struct sql_context *context)
{
	(void)context;
	return 1;
}

const struct sql_table sql_summary = {
	.name = "summary",
	.about = "the whole run in one row",
	.columns = summary_columns,
	.column_count = array_size(summary_columns),
	.rows_per_key = 1,
	.row_count = one_row,
	.row_value = summary_value,
};
