/*
 * summary: the overview: what was alive at the peak and who allocated it, what leaked, what was
 * temporary, which command to run next - on one screen.
 */
#include <assert.h>

#include "model/import.h"
#include "questions/questions.h"
#include "questions/summary.h"
#include "report/memcheck.h"
#include "report/quality.h"
#include "report/rank.h"
#include "report/suppressed.h"

enum { SITES_SHOWN = 5, LABEL_VALUE_COLUMNS = 12, RSS_REMARKABLE = 32 << 20 };

/* --- text ---------------------------------------------------------------------------------- */

/* "  peak        12.3 MiB" with room for an explanation. */
static void add_fact(struct text *text, const char *label, const char *value)
{
	text_label(text, label);
	text_right(text, TEXT_VALUE, value, LABEL_VALUE_COLUMNS);
	str_add(&text->out, "   ");
}

static void add_bytes_fact(struct text *text, const char *label, uint64_t bytes)
{
	char value[STR_SHORT_BYTES];

	add_fact(text, label, str_iec(value, bytes));
}

static void add_count_fact(struct text *text, const char *label, uint64_t count)
{
	char value[STR_SHORT_BYTES];

	add_fact(text, label, str_grouped(value, count));
}

static void add_peak(struct text *text, const struct model *model,
		     const struct summary_answer *summary)
{
	struct str *out = &text->out;

	add_bytes_fact(text, "peak", summary->peak.bytes);
	str_add(out, "in ");
	str_add_counted(out, summary->peak.count, "block");
	if (!(model_missing(model) & TAPE_MISSING_TIMES)) {
		str_add(out, ", after ");
		str_add_duration(out, summary->peak.time_ns);
	}
	if (model_process(model)->flags & TAPE_FLAG_FORKED)
		str_add(out, ", besides what it had from its parent");
	if (summary->rss_max_bytes > 0) {
		str_add(out, "; resident at most ");
		str_add_iec(out, summary->rss_max_bytes);
	}
	str_add_char(out, '\n');
}

/* Without suppressed leaks, which are listed separately. */
static void add_leaked(struct text *text, const struct report_context *context,
		       const struct summary_answer *summary)
{
	const struct suppressed_answer *suppressed = summary->suppressed;
	const struct model *model = context->model;
	struct str *out = &text->out;

	add_bytes_fact(text, text_goes_on(model) || text_was_replaced(model) ? "alive" : "leaked",
		       summary->leaked.bytes);
	str_add(out, "in ");
	str_add_counted(out, summary->leaked.count, "block");
	str_add(out, text_goes_on(model)	? " not freed yet, "
		     : text_was_replaced(model) ? " alive when it became another program, "
						: " never freed, ");
	str_add_percent(out, summary->leaked.bytes, summary->peak.bytes);
	str_add(out, " of the peak");
	if (suppressed && suppressed->count > 0) {
		str_add(out, "; ");
		str_add_iec(out, suppressed->bytes);
		str_add(out, " more suppressed");
	}
	if (suppressed && suppressed->file) {
		str_add(out, " (");
		suppressed_add_origins(out, suppressed->file);
		str_add(out, ")");
	}
	str_add_char(out, '\n');
}

static void add_allocated(struct text *text, const struct summary_answer *summary)
{
	struct str *out = &text->out;

	add_bytes_fact(text, "allocated", summary->allocations.bytes);
	str_add(out, "in ");
	str_add_counted(out, summary->allocations.count, "allocation");
	if (summary->allocations.count > 0) {
		str_add(out, ", on average ");
		str_add_iec(out, summary->allocations.bytes / summary->allocations.count);
	}
	if (summary->rate_mean > 0) {
		str_add(out, ", ");
		str_add_grouped(out, (uint64_t)(summary->rate_mean + 0.5));
		str_add(out, " a second");
	}
	str_add_char(out, '\n');
}

/* With what is on the tape these are the sums of the whole recording. */
static void add_rotated(struct text *text, const struct summary_rotated *rotated)
{
	struct str *out = &text->out;

	if (!rotated)
		return;
	add_bytes_fact(text, "left out", rotated->allocations.bytes);
	str_add(out, "besides, in ");
	str_add_counted(out, rotated->allocations.count, "allocation");
	str_add(out, " freed before ");
	str_add_duration(out, rotated->from_ns);
	str_add(out, "; the peak until then was ");
	str_add_iec(out, rotated->peak.bytes);
	str_add(out, ", after ");
	str_add_duration(out, rotated->peak.time_ns);
	str_add_char(out, '\n');
}

static void add_temporary(struct text *text, const struct model *model,
			  const struct summary_answer *summary)
{
	struct str *out = &text->out;

	if (model_process(model)->flags & TAPE_FLAG_AVERAGES)
		return; /* unknown */
	add_count_fact(text, "temporary", summary->temporary.count);
	str_add(out, summary->temporary.count == 1 ? "allocation, " : "allocations, ");
	str_add_percent(out, summary->temporary.count, summary->allocations.count);
	str_printf(out, " of all, %s freed before %s thread allocated again\n",
		   summary->temporary.count == 1 ? "was" : "were",
		   summary->temporary.count == 1 ? "its" : "their");
}

/* For tapes with latencies. */
static void add_latency(struct text *text, const struct summary_latency *latency)
{
	struct str *out = &text->out;
	char value[STR_SHORT_BYTES];

	if (!latency)
		return;
	add_fact(text, "allocator", str_duration(value, latency->total_ns));
	str_add(out, "in ");
	str_add_counted(out, latency->calls, "call");
	if (latency->calls > 0) {
		str_add(out, ", on average ");
		str_add_duration(out, latency->mean_ns);
		str_add(out, ", 99 % within ");
		str_add_duration(out, latency->p99_ns);
		str_add(out, ", the longest ");
		str_add_duration(out, latency->max_ns);
	}
	str_add_char(out, '\n');
}

static bool is_some(uint64_t count)
{
	return count > 0 && count != SHAPE_NONE;
}

/* Where the system was short of memory, numbers of it are not those of an idle machine. */
static void add_shortage(struct text *text, const struct summary_shortage *shortage)
{
	if (!shortage)
		return;
	add_fact(text, "system", shortage->level);
	str_add_terminal(&text->out, shortage->answer);
	str_add(&text->out, ", after ");
	str_add_duration(&text->out, shortage->time_ns);
	str_add_char(&text->out, '\n');
}

static void add_facts(struct text *text, const struct report_context *context,
		      const struct summary_answer *summary)
{
	const struct model *model = context->model;

	add_peak(text, model, summary);
	add_leaked(text, context, summary);
	add_allocated(text, summary);
	add_rotated(text, summary->rotated);
	add_temporary(text, model, summary);
	if (is_some(summary->reallocs)) {
		add_count_fact(text, "reallocated", summary->reallocs);
		str_add(&text->out, "of the allocations grew or shrank a block\n");
	}
	if (is_some(summary->failed)) {
		add_count_fact(text, "failed", summary->failed);
		str_printf(&text->out, "%s returned NULL\n",
			   summary->failed == 1 ? "allocation" : "allocations");
	}
	add_shortage(text, summary->shortage);
}

/* What the last leak scan says of blocks alive at its time. */
static void add_leak_classes(struct text *text, const struct summary_answer *summary)
{
	CLEAN(str_deinit) struct str when = { 0 };
	const struct scan_facts *scan = summary->leak_scan;

	if (!scan)
		return;
	str_printf(&when, "%s, after ", scan->reason);
	str_add_duration(&when, scan->time_ns);
	text_heading(text, "Leak scan", str_text(&when));
	if (summary->leak_classes) {
		memcheck_summary(&text->out, "", summary->leak_classes);
		return;
	}
	str_add(&text->out, "  no result: ");
	str_add_terminal(&text->out, scan->trouble);
	str_add_char(&text->out, '\n');
}

enum {
	NEXT_MAX = 11,
};

struct next {
	struct str command;
	const char *why;
};

struct nexts {
	const char *tape_path;
	struct next items[NEXT_MAX];
	size_t count;
};

static void nexts_deinit(struct nexts *nexts)
{
	for (size_t i = 0; i < nexts->count; i++)
		str_deinit(&nexts->items[i].command);
}

CLEAN_DEFINE_DEINIT(nexts_deinit, struct nexts);

static void next_put(struct nexts *nexts, const char *command, const char *options, const char *why)
{
	struct next *next = &nexts->items[nexts->count++];

	assert(nexts->count <= NEXT_MAX);
	str_printf(&next->command, "memtape %s ", command);
	str_add_shell(&next->command, nexts->tape_path);
	str_add(&next->command, options);
	next->why = why;
}

/* The reason beside the command, or above it where the line has no room for both. */
static void nexts_add(const struct nexts *nexts, struct text *text)
{
	size_t columns = 0, why_columns = 0;
	bool is_beside;

	for (size_t i = 0; i < nexts->count; i++) {
		columns = u64_max(columns, str_width(str_text(&nexts->items[i].command)));
		why_columns = u64_max(why_columns, str_width(nexts->items[i].why));
		text->out.failed |= nexts->items[i].command.failed;
	}
	is_beside = text->fold == 0 || columns + why_columns + 4 <= text->fold;
	for (size_t i = 0; i < nexts->count; i++) {
		const char *command = str_text(&nexts->items[i].command);

		str_add(&text->out, "  ");
		if (is_beside) {
			text_add(text, TEXT_PLAIN, command);
			str_add_repeated(&text->out, ' ', columns - str_width(command) + 2);
		}
		text_add(text, TEXT_DIM, nexts->items[i].why);
		str_add_char(&text->out, '\n');
		if (!is_beside) {
			str_add(&text->out, "    ");
			text_add(text, TEXT_PLAIN, command);
			str_add_char(&text->out, '\n');
		}
	}
}

/* What this tape calls for. */
static void add_next(struct text *text, const struct report_context *context,
		     const struct summary_answer *summary)
{
	CLEAN(nexts_deinit) struct nexts nexts = { .tape_path = context->settings->tape_path };

	if (!selection_is_all(context->selection))
		return;
	if (!nexts.tape_path || summary->allocations.count == 0)
		return;
	text_heading(text, "Next", NULL);
	if (summary->unnamed)
		next_put(&nexts, "symbols list", "", "how to get names for raw addresses");
	next_put(&nexts, "report", " findings", "what is wrong, and what to do");
	if (summary->leaked.count > 0)
		next_put(&nexts, "report", " leaks",
			 text_goes_on(context->model) ? "what is not freed yet, by stack"
			 : text_was_replaced(context->model)
				 ? "what was alive when it became another program, by stack"
				 : "what was never freed, by stack");
	if (summary->leak_classes)
		next_put(&nexts, "report", " leak-classes", "what is lost for good, by stack");
	if (summary->rss_max_bytes > 2 * summary->peak.bytes + RSS_REMARKABLE)
		next_put(&nexts, "report", " rss", "what is resident beside live blocks");
	if (summary->shortage)
		next_put(&nexts, "report", " usage", "the system's memory over time");
	if (summary->temporary.count > summary->allocations.count / 10)
		next_put(&nexts, "report", " temporary", "what was freed at once");
	if (summary->latency)
		next_put(&nexts, "report", " latency", "calls that took long, and whose");
	next_put(&nexts, "report", " tree", "the peak from main downwards");
	next_put(&nexts, "flamegraph", " -o peak.svg", "the peak as a picture");
	next_put(&nexts, "serve", "", "all of it in a browser");
	nexts_add(&nexts, text);
}

static struct err *summary_text(const struct report_context *context, const void *answer, FILE *out)
{
	static const enum metric metrics[] = { METRIC_PEAK, METRIC_LEAKED, METRIC_TEMPORARY };
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	const struct report_settings *settings = context->settings;
	const size_t top = settings->with.top ? settings->with.top : SITES_SHOWN;
	const char *sort = settings->with.sort;
	const struct summary_answer *summary = answer;
	struct sites sites;
	struct err *err =
		sites_find(&context->sums, context->names, context->mode, context->arena, &sites);

	if (err)
		return err;
	text_head(&text, context->model);
	str_add_char(&text.out, '\n');
	add_facts(&text, context, summary);
	add_latency(&text, summary->latency);
	if (sort)
		err = rank_text(context, &text, &sites, summary->metric, top, RANK_CALLERS, NULL);
	for (size_t i = 0; i < array_size(metrics) && !err && !sort; i++) {
		err = rank_text(context, &text, &sites, metrics[i], top, RANK_CALLERS, NULL);
		if (!err && metrics[i] == METRIC_LEAKED)
			add_leak_classes(&text, summary);
	}
	if (err)
		return err;
	quality_text(&text, context);
	add_next(&text, context, summary);
	return text_write(&text, out);
}

const struct report report_summary = {
	.question = &question_summary,
	.text = summary_text,
};
