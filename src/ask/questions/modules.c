/*
 * modules: allocations of each loaded object (the program and its libraries), when it was loaded,
 * and how well its functions could be named.
 */
#include "sums/modules.h"

#include "answer/about.h"
#include "base/sort.h"
#include "base/str.h"
#include "questions/questions.h"

enum { SHORT_ID_BYTES = 6 };

struct module_row {
	const char *module;
	struct shape_share share;
	uint64_t peak_bytes, peak_count;
	uint64_t leaked_bytes, leaked_count;
	uint64_t allocated_bytes, allocated_count;
	uint64_t temporary_count, temporary_bytes;
	uint64_t load_ns, unload_ns;
	const char *symbols;
	const char *short_id, *build_id;
	const char *short_module;
	const char *what;
};

struct modules_answer {
	struct shape_rows modules;
	struct about about;
};

static const struct member module_members[] = {
	MEMBER(struct module_row, module, TEXT, "its path", .nullable = true, .is_wide = true),
	MEMBER(struct module_row, share, SHARE, NULL, .title = "share", .is_text = true),
	MEMBER(struct module_row, peak_bytes, BYTES, "alive at the peak", .title = "at peak"),
	MEMBER(struct module_row, peak_count, COUNT, "blocks alive at the peak", .title = "blocks"),
	MEMBER(struct module_row, leaked_bytes, BYTES, "never freed, and not suppressed",
	       .title = "leaked"),
	MEMBER(struct module_row, leaked_count, COUNT, "blocks never freed, and not suppressed",
	       .title = "blocks"),
	MEMBER(struct module_row, allocated_bytes, BYTES, NULL, .title = "allocated"),
	MEMBER(struct module_row, allocated_count, COUNT, "allocations", .title = "calls"),
	MEMBER(struct module_row, temporary_count, COUNT,
	       "freed before their thread allocated again", .title = "temporary"),
	MEMBER(struct module_row, temporary_bytes, BYTES, "of these", .is_wide = true),
	MEMBER(struct module_row, load_ns, NS, "when it was loaded", .title = "loaded",
	       .nullable = true),
	MEMBER(struct module_row, unload_ns, NS, "when it was unloaded", .title = "unloaded",
	       .nullable = true),
	MEMBER(struct module_row, symbols, TEXT,
	       "what its functions are named by: lines, functions, exported, none, gone, changed, "
	       "kernel, or unread if nobody asked",
	       .title = "names", .left = true, .nullable = true),
	MEMBER(struct module_row, short_id, TEXT, NULL, .title = "build-id", .left = true,
	       .nullable = true, .is_text = true),
	MEMBER(struct module_row, build_id, TEXT, "hexadecimal", .nullable = true, .is_wide = true),
	MEMBER(struct module_row, short_module, TEXT, NULL, .title = "module", .left = true,
	       .elastic = true, .is_text = true),
	MEMBER(struct module_row, what, TEXT, "object, outside of every object, or no stack",
	       .is_wide = true),
};
static const struct shape shape_module = SHAPE("ModuleRow", struct module_row, module_members);

static const struct member modules_members[] = {
	MEMBER(struct modules_answer, modules, ROWS, "the most of the metric first",
	       .shape = &shape_module),
	MEMBER(struct modules_answer, about, FLAT, NULL, .shape = &shape_about),
};
static const struct shape shape_modules = SHAPE("Modules", struct modules_answer, modules_members);

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

/* SHAPE_NONE: not unloaded while recording. */
static uint64_t unload_ns(const struct model *model, const struct capture_module *module)
{
	return module->unload_ticks == UINT64_MAX ? SHAPE_NONE
						  : model_ns(model, module->unload_ticks);
}

static struct err *build_id_fill(const struct capture_module *module, struct arena *arena,
				 struct module_row *row)
{
	CLEAN(str_deinit) struct str hex = { 0 };

	if (module->build_id_bytes == 0)
		return NULL;
	for (size_t i = 0; i < module->build_id_bytes; i++)
		str_printf(&hex, "%02x", module->build_id[i]);
	row->build_id = arena_strdup(arena, str_text(&hex));
	row->short_id = arena_printf(arena, "%.*s", 2 * SHORT_ID_BYTES, str_text(&hex));
	return row->build_id && row->short_id ? NULL : err_nomem();
}

static struct err *object_fill(const struct asked *asked, size_t index, struct module_row *row)
{
	const struct model *model = asked->model;
	const struct capture_module *module = model_module(model, index);

	row->what = "object";
	row->module = module->path;
	if (row->module[0] == '\0' && index == 0)
		row->module = model_process(model)->exe;
	row->short_module = names_short_path(row->module);
	row->load_ns = model_ns(model, module->load_ticks);
	row->unload_ns = unload_ns(model, module);
	row->symbols = symbols_words(names_module_state(asked->names, index));
	return build_id_fill(module, asked->arena, row);
}

static struct err *row_fill(const struct asked *asked, const struct model_stack_sums *sums,
			    size_t index, struct module_row *row)
{
	const size_t object_count = model_module_count(asked->model);
	const struct model_stack_sums *total = &asked->selection->sums.total;
	const enum metric metric = (enum metric)asked->sort;

	*row = (struct module_row) {
		.share = { metric_value(metric, sums), metric_value(metric, total) },
		.peak_bytes = sums->peak.bytes,
		.peak_count = sums->peak.count,
		.leaked_bytes = sums->leaked.bytes,
		.leaked_count = sums->leaked.count,
		.allocated_bytes = sums->allocated.bytes,
		.allocated_count = sums->allocated.count,
		.temporary_count = sums->temporary.count,
		.temporary_bytes = sums->temporary.bytes,
		.load_ns = SHAPE_NONE,
		.unload_ns = SHAPE_NONE,
	};
	if (index < object_count)
		return object_fill(asked, index, row);
	row->what = index == object_count ? "outside of every object" : "no stack";
	row->short_module = row->what;
	return NULL;
}

/*
 * Largest first, objects without allocations last: text omits those. Rows that are not objects are
 * left out if they have no allocations.
 */
static bool modules_order(const struct asked *asked, const struct modules *modules,
			  struct sort_pair *order, size_t *count_ret, size_t *quiet_ret)
{
	const size_t object_count = model_module_count(asked->model);
	size_t count = 0;

	*quiet_ret = 0;
	for (size_t i = 0; i < modules->count; i++) {
		const struct model_stack_sums *sums = &modules->sums[i];
		const bool is_quiet = sums->allocated.count == 0;

		if (is_quiet && i >= object_count)
			continue;
		*quiet_ret += is_quiet;
		order[count++] = (struct sort_pair) {
			is_quiet ? UINT64_MAX : ~metric_value((enum metric)asked->sort, sums) - 1,
			(uint32_t)i,
		};
	}
	*count_ret = count;
	return sort_pairs(order, count);
}

static struct err *ask(const struct asked *asked, void *result)
{
	struct modules_answer *answer = result;
	struct modules modules;
	struct sort_pair *order;
	struct module_row *items;
	size_t count, quiet_count;
	struct err *err = modules_find(&asked->selection->sums, asked->names, asked->mode,
				       asked->arena, &modules);

	if (err)
		return err;
	order = arena_array(asked->arena, modules.count, sizeof(*order));
	items = arena_array(asked->arena, modules.count, sizeof(*items));
	if (!order || !items || !modules_order(asked, &modules, order, &count, &quiet_count))
		return err_nomem();
	if (asked->with->top && asked->with->top < count) {
		quiet_count -= u64_min(quiet_count, count - asked->with->top);
		count = asked->with->top;
	}
	for (size_t i = 0; i < count && !err; i++)
		err = row_fill(asked, &modules.sums[order[i].index], order[i].index, &items[i]);
	if (err)
		return err;
	answer->modules =
		(struct shape_rows) { .items = items, .count = count, .quiet_count = quiet_count };
	return about_find(asked, &answer->about);
}

const struct question question_modules = {
	.name = "modules",
	.summary = "what each loaded object allocated, and how well it could be named",
	.shape = &shape_modules,
	.depth = MODEL_SUMMARY,
	.takes = TAKES(top),
	.selects = true,
	.sorts = metric_words,
	.sort = METRIC_PEAK,
	.ask = ask,
};
