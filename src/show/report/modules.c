/*
 * modules: what each loaded object - the program, its libraries - allocated, when it was there, and
 * how well its functions could be named.
 */
#include "sums/modules.h"

#include "base/sort.h"
#include "report/table.h"

enum { ROWS_SHOWN = 24, BUILD_ID_SHOWN = 12 };

#define SUM_COLUMNS                                                                                \
	{ .key = "peak_bytes", .title = "at peak" }, { .key = "peak_count", .title = "blocks" },   \
		{ .key = "leaked_bytes", .title = "leaked" },                                      \
		{ .key = "leaked_count", .title = "blocks" },                                      \
		{ .key = "allocated_bytes", .title = "allocated" },                                \
		{ .key = "allocated_count", .title = "calls" },                                    \
	{                                                                                          \
		.key = "temporary_count", .title = "temporary"                                     \
	}

static const struct emit_column people_columns[] = {
	{ .key = "share", .title = "share" },
	SUM_COLUMNS,
	{ .key = "load_ns", .title = "loaded" },
	{ .key = "unload_ns", .title = "unloaded" },
	{ .key = "symbols", .title = "names", .left = true },
	{ .key = "build_id", .title = "build-id", .left = true },
	{ .key = "module", .title = "module", .left = true, .elastic = true },
};
static const struct emit_column program_columns[] = {
	{ .key = "module" },	      SUM_COLUMNS,
	{ .key = "temporary_bytes" }, { .key = "load_ns" },
	{ .key = "unload_ns" },	      { .key = "build_id" },
	{ .key = "symbols" },	      { .key = "what" },
};

static const enum metric shown[] = {
	METRIC_PEAK,	  METRIC_PEAK_COUNT, METRIC_LEAKED,    METRIC_LEAKED_COUNT,
	METRIC_ALLOCATED, METRIC_COUNT,	     METRIC_TEMPORARY, METRIC_TEMPORARY_BYTES,
};

/* Rows that are no object say what they are. */
static const char *what_of(const struct model *model, size_t index)
{
	const size_t count = model_module_count(model);

	return index < count ? "object" : index == count ? "outside of every object" : "no stack";
}

static const char *symbols_words(enum symbol_state state)
{
	static const char *const words[] = {
		[SYMBOL_UNREAD] = "unread",   [SYMBOL_LINES] = "lines",
		[SYMBOL_NAMES] = "functions", [SYMBOL_EXPORTS] = "exported",
		[SYMBOL_NONE] = "none",	      [SYMBOL_MISSING] = "gone",
		[SYMBOL_STALE] = "changed",   [SYMBOL_VIRTUAL] = "kernel",
	};

	return words[state];
}

static const char *module_path(const struct model *model, size_t index)
{
	const char *path = model_module(model, index)->path;

	return path[0] == '\0' && index == 0 ? model_process(model)->exe : path;
}

static void emit_build_id(struct emit *emit, const struct capture_module *module, size_t bytes_max)
{
	CLEAN(str_deinit) struct str hex = { 0 };

	for (size_t i = 0; i < module->build_id_bytes && i < bytes_max; i++)
		str_printf(&hex, "%02x", module->build_id[i]);
	emit_text(emit, "build_id", hex.len ? str_text(&hex) : NULL);
}

static void emit_object_facts(struct emit *emit, const struct report_context *context, size_t index)
{
	const struct model *model = context->model;
	const struct capture_module *module = model_module(model, index);
	const bool is_text = context->settings->format == EMIT_TEXT;
	const char *path = module_path(model, index);

	emit_u64(emit, "load_ns", model_ns(model, module->load_ticks), EMIT_DURATION);
	if (module->unload_ticks == UINT64_MAX)
		emit_null(emit, "unload_ns");
	else
		emit_u64(emit, "unload_ns", model_ns(model, module->unload_ticks), EMIT_DURATION);
	emit_text(emit, "symbols", symbols_words(names_module_state(context->names, index)));
	emit_build_id(emit, module, is_text ? BUILD_ID_SHOWN / 2 : SIZE_MAX);
	emit_text(emit, "module", is_text ? names_short_path(path) : path);
}

static void emit_module(struct emit *emit, const struct report_context *context,
			const struct model_stack_sums *sums, size_t index, enum metric metric)
{
	const bool is_object = index < model_module_count(context->model);
	const char *what = what_of(context->model, index);

	emit_row(emit);
	if (context->settings->format == EMIT_TEXT)
		emit_percent(emit, "share", metric_value(metric, sums),
			     metric_value(metric, &context->sums.total));
	table_metrics(emit, shown, array_size(shown), sums);
	if (is_object) {
		emit_object_facts(emit, context, index);
	} else {
		emit_null(emit, "load_ns");
		emit_null(emit, "unload_ns");
		emit_null(emit, "symbols");
		emit_null(emit, "build_id");
		emit_text(emit, "module", context->settings->format == EMIT_TEXT ? what : NULL);
	}
	emit_text(emit, "what", what);
	emit_end(emit);
}

/* Most first; people are not shown those that allocated nothing, nor programs a row for nobody. */
static struct err *modules_order(const struct report_context *context,
				 const struct modules *modules, enum metric metric,
				 struct sort_pair *order, size_t *count_ret)
{
	const bool is_text = context->settings->format == EMIT_TEXT;
	const size_t objects = model_module_count(context->model);
	size_t count = 0;

	for (size_t i = 0; i < modules->count; i++) {
		const struct model_stack_sums *sums = &modules->sums[i];

		if (sums->allocated.count == 0 && (is_text || i >= objects))
			continue;
		order[count++] = (struct sort_pair) { ~metric_value(metric, sums), (uint32_t)i };
	}
	*count_ret = count;
	return sort_pairs(order, count) ? NULL : err_nomem();
}

static struct err *run(const struct report_context *context, FILE *out)
{
	const struct report_settings *settings = context->settings;
	const bool is_text = settings->format == EMIT_TEXT;
	const enum metric metric = settings->has_sort ? (enum metric)settings->sort : METRIC_PEAK;
	const size_t top = settings->with.top ? settings->with.top
			   : is_text	      ? ROWS_SHOWN
					      : SIZE_MAX;
	struct sort_pair *order;
	struct modules modules;
	struct table table;
	size_t count;
	struct err *err = modules_find(&context->sums, context->names, context->mode,
				       context->arena, &modules);

	if (err)
		return err;
	order = arena_array(context->arena, modules.count, sizeof(*order));
	if (!order)
		return err_nomem();
	err = modules_order(context, &modules, metric, order, &count);
	if (!err)
		err = table_begin(
			&table, context, out, "modules", is_text ? people_columns : program_columns,
			is_text ? array_size(people_columns) : array_size(program_columns));
	if (err)
		return err;
	for (size_t i = 0; i < count && i < top; i++)
		emit_module(table.emit, context, &modules.sums[order[i].index], order[i].index,
			    metric);
	return table_end(&table);
}

const struct report report_modules = {
	.name = "modules",
	.summary = "what each loaded object allocated, and how well it could be named",
	.depth = MODEL_SUMMARY,
	.selects = true,
	.run = run,
};
