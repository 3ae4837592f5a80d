#include "report/diff_parts.h"

#include "base/number.h"

enum { ROWS_SHOWN = 12 };

double diff_magnitude(double change)
{
	return change < 0 ? -change : change;
}

void diff_add_value(struct str *out, enum metric metric, double value)
{
	const uint64_t whole = u64_of_double(value + 0.5);

	const bool is_whole = (double)whole == value;

	if (!is_whole && value < 100) /* for one unit of work */
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

const char *diff_metric_noun(const struct diff_settings *settings, enum metric metric)
{
	static const char *const nouns[METRICS] = {
		[METRIC_PEAK] = "peak",
		[METRIC_LEAKED] = "sum of leaks",
		[METRIC_ALLOCATED] = "sum of bytes allocated",
		[METRIC_COUNT] = "number of allocations",
		[METRIC_TEMPORARY] = "number of temporary allocations",
	};

	return settings->is_live && metric == METRIC_PEAK ? "live memory" : nouns[metric];
}

/* A moment has no leaks of its own, and a span of time no peak. */
bool diff_metric_is_told(const struct diff_answer *answer, enum metric metric)
{
	const bool has_any =
		answer->totals[DIFF_A].peak.count + answer->totals[DIFF_B].peak.count > 0;

	if (metric == METRIC_LEAKED)
		return !answer->settings->is_live;
	return metric != METRIC_PEAK || has_any;
}

/* The row that explains most of the change: of those in its direction the one that changed most. */
static const struct diff_row *main_row(const struct diff_answer *answer, double total)
{
	for (size_t i = 0; i < answer->diff.count; i++) {
		const double change =
			diff_change(answer->sides, answer->diff.metric, answer->diff.rows[i].sums);

		if (change != 0 && (change > 0) == (total > 0))
			return &answer->diff.rows[i];
	}
	return NULL;
}

static void add_reason(struct str *out, const struct diff_answer *answer, double total)
{
	const enum metric metric = answer->diff.metric;
	const struct diff_row *row = main_row(answer, total);
	double change;

	if (!row)
		return;
	change = diff_change(answer->sides, metric, row->sums);
	str_add(out, "; ");
	if (diff_magnitude(change) * 1000 < diff_magnitude(total) * 1001) { /* 100.0 % */
		diff_add_percent(out, diff_magnitude(change), diff_magnitude(total));
		str_add(out, " of it from ");
	} else {
		diff_add_change(out, metric, change);
		str_add(out, ", partly made up for elsewhere, from ");
	}
	if (row->function)
		text_function_short(out, row->function, 60);
	else
		str_add(out, row->module);
}

/* false: there is no change. */
static bool add_change_words(struct str *out, const struct diff_answer *answer)
{
	const enum metric metric = answer->settings->metric;
	const double change = diff_change(answer->sides, metric, answer->totals);
	const double before = diff_value(&answer->sides[DIFF_A], metric, &answer->totals[DIFF_A]);
	const bool is_per_unit = answer->sides[DIFF_A].units > 1 || answer->sides[DIFF_B].units > 1;

	str_add(out, "B's ");
	str_add(out, diff_metric_noun(answer->settings, metric));
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

/* "B's peak is 12.3 MiB (34.0 %) higher; 80.0 % of it from parse_chunk" */
void diff_add_verdict(struct str *out, const struct diff_answer *answer)
{
	if (add_change_words(out, answer))
		add_reason(out, answer,
			   diff_change(answer->sides, answer->diff.metric, answer->totals));
}

bool diff_is_exceeded(const struct diff_answer *answer, const struct gate_condition *condition)
{
	struct gate_value values[DIFF_SIDES];

	for (unsigned side = 0; side < DIFF_SIDES; side++)
		values[side] = (struct gate_value) {
			metric_value(condition->metric, &answer->totals[side]),
			answer->sides[side].units,
		};
	return gate_is_exceeded(condition, values[DIFF_A], values[DIFF_B]);
}

/* People are shown what differs; programs get everything. */
static void rows_count(struct diff_answer *answer)
{
	const struct report_settings *settings = &answer->settings->report;
	const bool is_text = settings->format == EMIT_TEXT;

	for (size_t i = 0; i < answer->diff.count; i++)
		answer->changed_count += diff_change(answer->sides, answer->diff.metric,
						     answer->diff.rows[i].sums) != 0;
	answer->count = is_text ? u64_min(answer->changed_count, ROWS_SHOWN) : answer->diff.count;
	if (settings->with.top)
		answer->count = u64_min(settings->with.top,
					is_text ? answer->changed_count : answer->diff.count);
}

struct diff_answer diff_answer_begin(const struct diff_subject *subjects,
				     const struct diff_settings *settings)
{
	struct diff_answer answer = { .subjects = subjects, .settings = settings };

	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		answer.sides[side] =
			(struct diff_side) { &subjects[side].sums, subjects[side].names,
					     subjects[side].units };
		answer.totals[side] = subjects[side].sums.total;
	}
	return answer;
}

static bool is_failed(const struct diff_answer *answer, const struct gate *gate)
{
	for (size_t i = 0; gate && i < gate->count; i++) {
		if (diff_is_exceeded(answer, &gate->conditions[i]))
			return true;
	}
	return false;
}

bool diff_is_failed(const struct diff_subject *subjects, const struct gate *gate)
{
	const struct diff_settings settings = { 0 };
	const struct diff_answer answer = diff_answer_begin(subjects, &settings);

	return is_failed(&answer, gate);
}

void diff_add_change_words(struct str *out, const struct diff_subject *subjects,
			   const struct diff_settings *settings)
{
	const struct diff_answer answer = diff_answer_begin(subjects, settings);

	add_change_words(out, &answer);
}

struct err *diff_report(const struct diff_subject *subjects, const struct diff_settings *settings,
			bool *is_exceeded_ret, FILE *out)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct diff_answer answer = diff_answer_begin(subjects, settings);
	struct err *err = diff_find(answer.sides, settings->by,
				    settings->report.with.all_frames ? WALK_ALL : WALK_FOLD,
				    settings->metric, &arena, &answer.diff);
	if (err)
		return err;
	rows_count(&answer);
	*is_exceeded_ret = is_failed(&answer, settings->gate);
	return settings->report.format == EMIT_TEXT ? diff_write_text(&answer, out)
						    : diff_write_data(&answer, out);
}
