/* A comparison in words. */
#include <assert.h>

#include "answer/diff.h"

#include "base/number.h"
#include "base/shorten.h"

enum { FUNCTION_COLUMNS = 60 };

double diff_magnitude(double change)
{
	return change < 0 ? -change : change;
}

void diff_add_value(struct str *out, enum metric metric, double value)
{
	const uint64_t whole = u64_of_double(value + 0.5);
	const bool is_whole = (double)whole == value;

	assert(value >= 0);
	assert((unsigned)metric < METRICS_KEYED);
	if (!is_whole && value < 100) /* per unit of work */
		str_add_double(out, value, 2);
	else if (metric_is_bytes(metric))
		str_add_iec(out, whole);
	else
		str_add_grouped(out, whole);
	if (!is_whole && value < 100 && metric_is_bytes(metric))
		str_add(out, " B");
}

void diff_add_change(struct str *out, enum metric metric, double change)
{
	if (change != 0)
		str_add(out, change < 0 ? "-" : "+");
	diff_add_value(out, metric, diff_magnitude(change));
}

void diff_add_percent(struct str *out, double part, double whole)
{
	str_add_double(out, whole > 0 ? part / whole * 100 : 0, 1);
	str_add(out, " %");
}

void diff_add_share(struct str *out, double before, double after)
{
	static const double times_min = 10.995;

	if (before <= 0 || before == after)
		return;
	if (after >= before * times_min) {
		str_add_double(out, after / before, 0);
		str_add(out, "×");
		return;
	}
	str_add(out, after > before ? "+" : "-");
	diff_add_percent(out, diff_magnitude(after - before), before);
}

const char *diff_metric_word(const struct diff_settings *settings, enum metric metric)
{
	assert((unsigned)metric < METRICS_NAMED);
	return metric_words_all[settings->is_live && metric == METRIC_PEAK ? METRIC_LIVE : metric];
}

const char *diff_metric_noun(const struct diff_settings *settings, enum metric metric)
{
	static const char *const nouns[METRICS_NAMED] = {
		[METRIC_PEAK] = "peak",
		[METRIC_LEAKED] = "sum of leaks",
		[METRIC_ALLOCATED] = "sum of bytes allocated",
		[METRIC_COUNT] = "number of allocations",
		[METRIC_TEMPORARY] = "number of temporary allocations",
		[METRIC_LIVE] = "live memory",
		[METRIC_LEAKED_COUNT] = "number of leaks",
		[METRIC_TEMPORARY_BYTES] = "sum of temporary bytes",
		[METRIC_WASTED] = "sum of wasted bytes",
		[METRIC_RETAINED] = "retained size",
		[METRIC_STALE] = "sum of unused bytes",
		[METRIC_BRK] = "growth of the heap",
		[METRIC_MMAP] = "sum of mapped bytes",
		[METRIC_MUNMAP] = "sum of unmapped bytes",
		[METRIC_FAULTS] = "number of page faults",
		[METRIC_MAJOR_FAULTS] = "number of major page faults",
		[METRIC_OWNED_FAULTS] = "number of page faults in blocks",
	};

	assert((unsigned)metric < METRICS_NAMED);
	return nouns[settings->is_live && metric == METRIC_PEAK ? METRIC_LIVE : metric];
}

/*
 * A moment has no leaks, and a span may have nothing that is alive at the peak. Where the metric is
 * no member of sums, it takes the place of temporary allocations.
 */
bool diff_metric_is_told(const struct diff_found *found, enum metric metric)
{
	const bool has_any =
		found->totals[DIFF_A].peak.count + found->totals[DIFF_B].peak.count > 0;

	assert((unsigned)metric < METRICS_NAMED);
	if (metric == METRIC_LEAKED)
		return !found->settings->is_live;
	if (metric == METRIC_TEMPORARY)
		return metric_is_member(found->settings->metric);
	return metric != METRIC_PEAK || has_any;
}

const struct diff_row *diff_main_row(const struct diff_found *found)
{
	const double total = diff_change(found->sides, found->diff.metric, found->totals);

	assert(found->diff.rows || found->diff.count == 0);
	for (size_t i = 0; total != 0 && i < found->diff.count; i++) {
		const double change =
			diff_change(found->sides, found->diff.metric, found->diff.rows[i].sums);

		if (change != 0 && (change > 0) == (total > 0))
			return &found->diff.rows[i];
	}
	return NULL;
}

static void add_line(struct str *out, const char *file, uint64_t line)
{
	if (file && line != SHAPE_NONE)
		str_printf(out, " (%s:%llu)", names_short_path(file), (unsigned long long)line);
}

static void add_reason(struct str *out, const struct diff_found *found)
{
	const enum metric metric = found->diff.metric;
	const double total = diff_change(found->sides, metric, found->totals);
	const struct diff_row *row = diff_main_row(found);
	double change;

	if (!row)
		return;
	change = diff_change(found->sides, metric, row->sums);
	str_add(out, "; ");
	if (diff_magnitude(change) * 1000 < diff_magnitude(total) * 1001) { /* 100.0 % */
		diff_add_percent(out, diff_magnitude(change), diff_magnitude(total));
		str_add(out, " of it from ");
	} else {
		diff_add_change(out, metric, change);
		str_add(out, ", partly made up for elsewhere, from ");
	}
	if (row->function) {
		const struct place place = diff_row_place(found, row);

		str_add_function(out, row->brief, FUNCTION_COLUMNS);
		add_line(out, place.file, place.line);
	} else {
		str_add(out, row->module);
	}
}

bool diff_add_change_words(struct str *out, const struct diff_found *found)
{
	const enum metric metric = found->settings->metric;
	const double change = diff_change(found->sides, metric, found->totals);
	const double before = diff_value(&found->sides[DIFF_A], metric, &found->totals[DIFF_A]);
	const bool is_per_unit = found->sides[DIFF_A].units > 1 || found->sides[DIFF_B].units > 1;

	str_add(out, "B's ");
	str_add(out, diff_metric_noun(found->settings, metric));
	if (is_per_unit)
		str_add(out, ", per unit,");
	if (change == 0) {
		str_add(out, " is that of A");
		return false;
	}
	str_add(out, " is ");
	diff_add_value(out, metric, diff_magnitude(change));
	if (before > 0) {
		str_add(out, " (");
		diff_add_percent(out, diff_magnitude(change), before);
		str_add(out, ")");
	}
	str_add(out, change > 0 ? " higher" : " lower");
	return true;
}

/* Not of the function that the reason names anyway. */
static void add_below(struct str *out, const struct diff_found *found)
{
	const struct diff_below *below = &found->below;
	const struct diff_row *row = diff_main_row(found);
	const double total = diff_change(found->sides, found->diff.metric, found->totals);
	const double share = diff_magnitude(below->difference) / diff_magnitude(total) * 1000;

	if (!below->function ||
	    (row && row->function && strcmp(row->function, below->function) == 0))
		return;
	str_add(out, ", ");
	if (share >= 999.5 && share < 1000.5)
		str_add(out, "all");
	else if (share < 1000)
		diff_add_percent(out, share, 1000);
	else
		str_add(out, "more than that");
	str_add(out, " of it below ");
	str_add_function(out, below->brief, FUNCTION_COLUMNS);
	add_line(out, below->file, below->line);
}

void diff_add_verdict(struct str *out, const struct diff_found *found)
{
	if (!diff_add_change_words(out, found))
		return;
	add_below(out, found);
	add_reason(out, found);
}
