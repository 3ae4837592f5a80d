#include "questions/summary.h"

#include "base/sort.h"
#include "base/str.h"
#include "findings/edits.h"
#include "groups/call_times.h"
#include "model/import.h"
#include "questions/questions.h"
#include "sums/sites.h"
#include "verdict/shortage.h"

enum { UNNAMED_SHARE = 20 }; /* 5 % of the peak: less is not worth a line */

static const struct member peak_members[] = {
	MEMBER(struct summary_peak, bytes, BYTES, NULL),
	MEMBER(struct summary_peak, count, COUNT, "blocks"),
	MEMBER(struct summary_peak, time_ns, NS, "when"),
};
static const struct shape shape_peak = SHAPE("SummaryPeak", struct summary_peak, peak_members);

static const struct member function_members[] = {
	MEMBER(struct summary_function, calls, COUNT, NULL),
	MEMBER(struct summary_function, bytes, BYTES, "requested"),
	MEMBER(struct summary_function, failed, COUNT, "calls that returned NULL"),
};
static const struct shape shape_function =
	SHAPE("FunctionCalls", struct summary_function, function_members);

static const struct member latency_members[] = {
	MEMBER(struct summary_latency, calls, COUNT, NULL),
	MEMBER(struct summary_latency, total_ns, NS, NULL),
	MEMBER(struct summary_latency, mean_ns, NS, NULL),
	MEMBER(struct summary_latency, p50_ns, NS, "the median"),
	MEMBER(struct summary_latency, p99_ns, NS, "99 % took no longer"),
	MEMBER(struct summary_latency, max_ns, NS, NULL),
};
static const struct shape shape_latency =
	SHAPE("LatencySum", struct summary_latency, latency_members);

static const struct member rotated_members[] = {
	MEMBER(struct summary_rotated, from_ns, NS, "no event is missing of what came after it"),
	MEMBER(struct summary_rotated, rotations, COUNT, NULL),
	MEMBER(struct summary_rotated, allocations, OBJECT, "freed before it, and left out",
	       .shape = &shape_sum),
	MEMBER(struct summary_rotated, frees, OBJECT, "of these", .shape = &shape_sum),
	MEMBER(struct summary_rotated, reallocs, COUNT, "of these, that grew or shrank a block"),
	MEMBER(struct summary_rotated, failed, COUNT, "calls that returned NULL"),
	MEMBER(struct summary_rotated, unknown_frees, COUNT, "of blocks that were not recorded"),
	MEMBER(struct summary_rotated, lost_frees, COUNT, "blocks freed unseen"),
	MEMBER(struct summary_rotated, records, COUNT, "marks, samples and other records"),
	MEMBER(struct summary_rotated, peak, OBJECT, "when most bytes were alive before it",
	       .shape = &shape_peak),
};
static const struct shape shape_rotated =
	SHAPE("SummaryRotated", struct summary_rotated, rotated_members);

static const struct member shortage_members[] = {
	MEMBER(struct summary_shortage, name, TEXT, "the name that memtape triage has for it"),
	MEMBER(struct summary_shortage, level, TEXT, NULL, .words = verdict_level_words),
	MEMBER(struct summary_shortage, answer, TEXT, "the figures then"),
	MEMBER(struct summary_shortage, time_ns, NS, "when it was first so bad"),
};
static const struct shape shape_shortage =
	SHAPE("SummaryShortage", struct summary_shortage, shortage_members);

static const struct member unnamed_module_members[] = {
	MEMBER(struct summary_unnamed_module, module, TEXT, "its path"),
	MEMBER(struct summary_unnamed_module, reason, TEXT, "why its functions have no names"),
	MEMBER(struct summary_unnamed_module, build_id, TEXT, "hexadecimal digits",
	       .nullable = true),
	MEMBER(struct summary_unnamed_module, bytes, BYTES, "of those"),
};
static const struct shape shape_unnamed_module =
	SHAPE("SummaryUnnamedModule", struct summary_unnamed_module, unnamed_module_members);

static const struct member unnamed_members[] = {
	MEMBER(struct summary_unnamed, bytes, BYTES, "alive at the peak"),
	MEMBER(struct summary_unnamed, share, SHARE, "of the peak"),
	MEMBER(struct summary_unnamed, modules, ROWS, "the most bytes first",
	       .shape = &shape_unnamed_module),
};
static const struct shape shape_unnamed =
	SHAPE("SummaryUnnamed", struct summary_unnamed, unnamed_members);

static const struct member process_members[] = {
	MEMBER(struct summary_process, pid, PLAIN, NULL),
	MEMBER(struct summary_process, exe, TEXT, "path of the program"),
	MEMBER(struct summary_process, argv, TEXTS, "its arguments"),
	MEMBER(struct summary_process, exit_code, SIGNED, NULL, .nullable = true),
	MEMBER(struct summary_process, signal, SIGNED, "number of the signal that ended it",
	       .nullable = true),
};
static const struct shape shape_process =
	SHAPE("ProcessEnd", struct summary_process, process_members);

static const struct member summary_members[] = {
	MEMBER(struct summary_answer, duration_ns, NS, "of the recording"),
	MEMBER(struct summary_answer, allocations, OBJECT, NULL, .shape = &shape_sum),
	MEMBER(struct summary_answer, rate_mean, RATIO, "allocations per second; 0: not known"),
	MEMBER(struct summary_answer, frees, OBJECT, NULL, .shape = &shape_sum),
	MEMBER(struct summary_answer, peak, OBJECT, "when most bytes were alive",
	       .shape = &shape_peak),
	MEMBER(struct summary_answer, leaked, OBJECT, "never freed, and not suppressed",
	       .shape = &shape_sum),
	MEMBER(struct summary_answer, goes_on, FLAG,
	       "the tape ends before its program: what was never freed is not freed yet"),
	MEMBER(struct summary_answer, suppressed, OBJECT, "never freed, but suppressed",
	       .shape = &shape_suppressed, .optional = true),
	MEMBER(struct summary_answer, leak_classes, OBJECT,
	       "blocks alive at the last leak scan of the tape", .shape = &shape_loss_classes,
	       .optional = true),
	MEMBER(struct summary_answer, leak_scan, OBJECT, "that scan", .shape = &shape_scan_facts,
	       .optional = true),
	MEMBER(struct summary_answer, temporary, OBJECT,
	       "freed before their thread allocated again", .shape = &shape_sum),
	MEMBER(struct summary_answer, lost_events, COUNT, "events that were not recorded"),
	MEMBER(struct summary_answer, functions, KEYED, "calls by function",
	       .shape = &shape_function, .nullable = true),
	MEMBER(struct summary_answer, reallocs, COUNT, "calls that grew or shrank a block",
	       .nullable = true),
	MEMBER(struct summary_answer, failed, COUNT, "calls that returned NULL", .nullable = true),
	MEMBER(struct summary_answer, unknown_frees, COUNT, "of blocks that were not recorded",
	       .nullable = true),
	MEMBER(struct summary_answer, null_frees, COUNT, "free(NULL)", .nullable = true),
	MEMBER(struct summary_answer, usable_bytes, BYTES,
	       "of all allocations, with what the allocator added", .nullable = true),
	MEMBER(struct summary_answer, latency, OBJECT, "of a tape with durations of calls",
	       .shape = &shape_latency, .optional = true),
	MEMBER(struct summary_answer, rotated, OBJECT,
	       "of a tape recorded with --rotate: what it has no detail of",
	       .shape = &shape_rotated, .optional = true),
	MEMBER(struct summary_answer, rss_max_bytes, BYTES,
	       "most resident bytes seen; 0: not known"),
	MEMBER(struct summary_answer, shortage, OBJECT,
	       "how the system was short of memory: the worst of it (see usage)",
	       .shape = &shape_shortage, .optional = true),
	MEMBER(struct summary_answer, unnamed, OBJECT,
	       "functions that appear as addresses, where they have more than 5 % of the peak",
	       .shape = &shape_unnamed, .optional = true),
	MEMBER(struct summary_answer, threads, COUNT, NULL),
	MEMBER(struct summary_answer, process, OBJECT, NULL, .shape = &shape_process),
	MEMBER(struct summary_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_summary = SHAPE("Summary", struct summary_answer, summary_members);

/* --- functions ------------------------------------------------------------------------------ */

/* Several tape numbers are one function for users: realloc(NULL, n), realloc(p, n) ... */
static void function_add(struct summary_function *sum, const struct model *model, unsigned fn)
{
	const struct model_function *function = &model_functions(model)[fn];

	sum->calls += function->calls;
	sum->failed += function->failed;
	if (tape_fn_class(fn) != TAPE_CLASS_REALLOC_OUT && fn != TAPE_FN_REALLOC_FREE)
		sum->bytes += function->bytes;
}

/* In the order of each name's first number; functions never called are left out. */
static struct err *functions_find(const struct asked *asked, struct shape_rows *rows)
{
	struct summary_function *items = arena_array(asked->arena, TAPE_FN_COUNT, sizeof(*items));
	size_t count = 0, called = 0;

	if (!items)
		return err_nomem();
	for (unsigned fn = 0; fn < TAPE_FN_COUNT; fn++) {
		size_t at = 0;

		while (at < count && strcmp(items[at].name, tape_fn_name(fn)) != 0)
			at++;
		if (at == count)
			items[count++].name = tape_fn_name(fn);
		function_add(&items[at], asked->model, fn);
	}
	for (size_t i = 0; i < count; i++) {
		if (items[i].calls > 0)
			items[called++] = items[i];
	}
	*rows = (struct shape_rows) { items, called };
	return NULL;
}

/* --- */

static struct err *latency_find(const struct asked *asked,
				const struct summary_latency **latency_ret)
{
	struct summary_latency *latency = arena_new(asked->arena, struct summary_latency);
	struct model_latency total;

	if (!model_latencies(asked->model))
		return NULL;
	if (!latency)
		return err_nomem();
	call_times_total(asked->model, &total);
	*latency = (struct summary_latency) {
		.calls = total.count,
		.total_ns = total.total_ns,
		.mean_ns = total.count ? total.total_ns / total.count : 0,
		.p50_ns = latency_percentile(&total, 50),
		.p99_ns = latency_percentile(&total, 99),
		.max_ns = total.max_ns,
	};
	*latency_ret = latency;
	return NULL;
}

static struct err *rotated_take(const struct asked *asked,
				const struct summary_rotated **rotated_ret)
{
	const struct tape_rotated *from = rotated_find(asked->model);
	struct summary_rotated *rotated = arena_new(asked->arena, struct summary_rotated);

	if (!from)
		return NULL;
	if (!rotated)
		return err_nomem();
	*rotated = (struct summary_rotated) {
		.from_ns = model_ns(asked->model, from->from_ticks),
		.rotations = from->rotation_count,
		.allocations = { from->allocated_count, from->allocated_bytes },
		.frees = { from->freed_count, from->freed_bytes },
		.reallocs = from->realloc_count,
		.failed = from->failed_count,
		.unknown_frees = from->unknown_free_count,
		.lost_frees = from->lost_free_count,
		.records = from->record_count,
		.peak = { from->peak_bytes, from->peak_count,
			  model_ns(asked->model, from->peak_ticks) },
	};
	*rotated_ret = rotated;
	return NULL;
}

static struct err *whole_find(const struct asked *asked, struct summary_answer *summary)
{
	const struct model_totals *totals = model_totals(asked->model);
	struct err *err;

	if (!selection_is_all(asked->selection)) {
		summary->reallocs = summary->failed = SHAPE_NONE;
		summary->unknown_frees = summary->null_frees = summary->usable_bytes = SHAPE_NONE;
		return NULL;
	}
	summary->reallocs = totals->realloc_count;
	summary->failed = totals->failed_count;
	summary->unknown_frees = totals->unknown_free_count;
	summary->null_frees = totals->free_null_count;
	summary->usable_bytes = totals->usable_bytes;
	err = functions_find(asked, &summary->functions);
	if (!err)
		err = rotated_take(asked, &summary->rotated);
	return err ? err : latency_find(asked, &summary->latency);
}

static struct err *leak_classes_find(const struct asked *asked, struct summary_answer *summary)
{
	const struct model_scan *scan = scan_last(asked->model);
	struct loss_classes *classes = arena_new(asked->arena, struct loss_classes);
	struct scan_facts *facts = arena_new(asked->arena, struct scan_facts);
	struct loss_view view;
	struct err *err;

	if (!scan)
		return NULL;
	if (!classes || !facts)
		return err_nomem();
	err = scan_facts_find(scan, asked->arena, facts);
	if (err)
		return err;
	summary->leak_scan = facts;
	if (facts->trouble)
		return NULL;
	err = loss_view_find(asked, scan, &view);
	if (err)
		return err;
	loss_view_sum(&view, classes);
	summary->leak_classes = classes;
	return NULL;
}

static struct err *shortage_find(const struct asked *asked,
				 const struct summary_shortage **shortage_ret)
{
	struct summary_shortage *shortage = arena_new(asked->arena, struct summary_shortage);
	const struct shortage *worst;
	struct shortages shortages;
	struct err *err = shortages_find(asked->model, asked->arena, &shortages);

	if (err || !shortage)
		return err ? err : err_nomem();
	worst = shortages_worst(&shortages);
	if (!worst)
		return NULL;
	*shortage = (struct summary_shortage) { worst->name, verdict_level_words[worst->level],
						worst->words, worst->ns };
	*shortage_ret = shortage;
	return NULL;
}

/* --- functions without names ---------------------------------------------------------------- */

static struct err *unnamed_module_fill(const struct asked *asked, size_t index,
				       struct summary_unnamed_module *row)
{
	const struct capture_module *module = model_module(asked->model, index);
	CLEAN(str_deinit) struct str hex = { 0 };

	row->module = names_module_path(asked->names, index);
	row->reason = symbol_state_text(names_module_state(asked->names, index));
	if (module->build_id_bytes == 0)
		return NULL;
	for (size_t i = 0; i < module->build_id_bytes; i++)
		str_printf(&hex, "%02x", module->build_id[i]);
	row->build_id = arena_strdup(asked->arena, str_text(&hex));
	return row->build_id ? NULL : err_nomem();
}

static struct err *unnamed_modules_fill(const struct asked *asked, const uint64_t *bytes,
					struct shape_rows *rows)
{
	const size_t module_count = model_module_count(asked->model);
	struct summary_unnamed_module *items =
		arena_array(asked->arena, module_count, sizeof(*items));
	struct sort_pair *order = arena_array(asked->arena, module_count, sizeof(*order));
	struct err *err = NULL;
	size_t count = 0;

	if (!items || !order)
		return err_nomem();
	for (size_t i = 0; i < module_count; i++) {
		if (bytes[i] > 0)
			order[count++] = (struct sort_pair) { ~bytes[i], (uint32_t)i };
	}
	if (!sort_pairs(order, count))
		return err_nomem();
	for (size_t i = 0; i < count && !err; i++) {
		items[i].bytes = bytes[order[i].index];
		err = unnamed_module_fill(asked, order[i].index, &items[i]);
	}
	*rows = (struct shape_rows) { .items = items, .count = count };
	return err;
}

static struct err *unnamed_find(const struct asked *asked, struct summary_answer *summary)
{
	const size_t module_count = model_module_count(asked->model);
	struct summary_unnamed *unnamed = arena_new(asked->arena, struct summary_unnamed);
	uint64_t *bytes = arena_array(asked->arena, module_count + 1, sizeof(*bytes));
	struct sites sites;
	struct err *err;

	if (!unnamed || !bytes)
		return err_nomem();
	err = sites_find(&asked->selection->sums, asked->names, asked->mode, asked->arena, &sites);
	if (err)
		return err;
	unnamed->bytes = sites_unnamed(&sites, asked->names, METRIC_PEAK, bytes);
	unnamed->share = (struct shape_share) { unnamed->bytes, summary->peak.bytes };
	if (unnamed->bytes <= summary->peak.bytes / UNNAMED_SHARE)
		return NULL;
	summary->unnamed = unnamed;
	return unnamed_modules_fill(asked, bytes, &unnamed->modules);
}

static uint64_t rss_max(const struct selection *selection)
{
	const struct model_usage *most =
		model_rss_peak(selection->model, selection->from_ns, selection->until_ns);

	return most ? most->usage.rss_bytes : 0;
}

double summary_rate(const struct selection *selection)
{
	const uint64_t duration_ns = model_process(selection->model)->duration_ns;
	const uint64_t until_ns = u64_min(selection->until_ns, duration_ns);
	const struct tape_rotated *rotated = rotated_find(selection->model);
	uint64_t count = selection_totals(selection).allocated.count;

	if (until_ns <= selection->from_ns || model_missing(selection->model) & TAPE_MISSING_TIMES)
		return 0;
	if (rotated && selection_is_all(selection))
		count += rotated->allocated_count;
	return (double)count * 1e9 / (double)(until_ns - selection->from_ns);
}

static struct summary_process process_of(const struct model_process *process)
{
	const bool exited = process->end_kind == TAPE_END_EXIT && process->end_status >= 0;

	return (struct summary_process) {
		.pid = process->pid,
		.exe = process->exe,
		.argv = { (const char *const *)process->argv, process->argc },
		.exit_code = exited ? process->end_status : INT64_MIN,
		.signal = process->end_kind == TAPE_END_SIGNAL ? process->end_status : INT64_MIN,
	};
}

static struct err *ask(const struct asked *asked, void *result)
{
	const struct model_totals totals = selection_totals(asked->selection);
	struct summary_answer *summary = result;
	struct err *err;

	*summary = (struct summary_answer) {
		.duration_ns = model_process(asked->model)->duration_ns,
		.allocations = totals.allocated,
		.rate_mean = summary_rate(asked->selection),
		.frees = totals.freed,
		.peak = { totals.peak.bytes, totals.peak.count, totals.peak_ns },
		.leaked = totals.leaked,
		.goes_on = model_goes_on(asked->model),
		.temporary = totals.temporary,
		.lost_events = model_quality(asked->model)->lost_events,
		.rss_max_bytes = rss_max(asked->selection),
		.threads = model_real_thread_count(asked->model),
		.process = process_of(model_process(asked->model)),
		.metric = (enum metric)asked->sort,
	};
	err = suppressed_find(asked, &summary->suppressed);
	if (!err)
		err = leak_classes_find(asked, summary);
	if (!err)
		err = whole_find(asked, summary);
	if (!err)
		err = shortage_find(asked, &summary->shortage);
	if (!err)
		err = unnamed_find(asked, summary);
	return err ? err : quality_find(asked, &summary->quality);
}

const struct question question_summary = {
	.name = "summary",
	.summary = "peak, leaks and temporaries on one screen",
	.shape = &shape_summary,
	.depth = MODEL_SUMMARY,
	.takes = TAKES(top),
	.selects = true,
	.sorts = metric_words,
	.sort = METRIC_PEAK,
	.ask = ask,
};
