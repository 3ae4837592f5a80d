#include "report/diff_parts.h"
#include "report/quality.h"
#include "report/rank.h"

enum {
	COLUMNS = 12,
	STATUS_COLUMNS = 8,
	NUMBERS_COLUMNS = 3 * COLUMNS + STATUS_COLUMNS + 2,
	NAMELESS_SHARE_MIN = 10 /* one in so many of what differs */
};

static void add_subject(struct text *text, const struct diff_subject *subject, const char *name)
{
	const struct model_process *process = model_process(subject->model);
	CLEAN(str_deinit) struct str words = { 0 };
	CLEAN(str_deinit) struct str shown = { 0 };

	str_add(&words, subject->path);
	if (subject->moment) {
		str_add(&words, " ");
		str_add(&words, subject->moment);
	}
	str_add(&words, "   ");
	for (uint32_t i = 0; i < process->argc; i++) {
		str_add(&words, i ? " " : "");
		str_add(&words, i ? process->argv[i] : names_short_path(process->argv[i]));
	}
	text_cut(&shown, str_text(&words), text->width - 4);
	text_add(text, TEXT_BOLD, name);
	str_add(&text->out, "  ");
	text_add(text, TEXT_PLAIN, str_text(&shown));
	str_add_char(&text->out, '\n');
}

static void add_total(struct text *text, const struct diff_answer *answer, enum metric metric)
{
	const double change = diff_change(answer->sides, metric, answer->totals);
	const enum text_style style = change > 0 ? TEXT_BAD : change < 0 ? TEXT_GOOD : TEXT_PLAIN;
	const double values[DIFF_SIDES] = {
		diff_value(&answer->sides[DIFF_A], metric, &answer->totals[DIFF_A]),
		diff_value(&answer->sides[DIFF_B], metric, &answer->totals[DIFF_B]),
	};
	CLEAN(str_deinit) struct str words = { 0 };

	text_label(text, answer->settings->is_live && metric == METRIC_PEAK ? "live"
									    : metric_words[metric]);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		str_clear(&words);
		diff_add_value(&words, metric, values[side]);
		text_right(text, TEXT_VALUE, str_text(&words), COLUMNS);
	}
	str_clear(&words);
	diff_add_change(&words, metric, change);
	text_right(text, style, str_text(&words), COLUMNS);
	str_clear(&words);
	if (change != 0 && values[DIFF_A] > 0) {
		str_add(&words, change > 0 ? "+" : "-");
		diff_add_percent(&words, diff_magnitude(change), values[DIFF_A]);
	}
	text_right(text, style, str_text(&words), COLUMNS);
	str_add_char(&text->out, '\n');
}

/* Leaks that are known, for whoever wonders where they are. */
static void add_suppressed(struct text *text, const struct diff_answer *answer)
{
	const struct diff_subject *subjects = answer->subjects;
	char words[STR_SHORT_BYTES];

	if (subjects[DIFF_A].suppressed.count + subjects[DIFF_B].suppressed.count == 0)
		return;
	text_label(text, "suppressed");
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		text_right(text, TEXT_DIM, str_iec(words, subjects[side].suppressed.bytes),
			   COLUMNS);
	str_add_char(&text->out, '\n');
}

static void add_totals(struct text *text, const struct diff_answer *answer)
{
	static const char *const titles[] = { "A", "B", "difference", "" };

	str_add_char(&text->out, '\n');
	text_label(text, "");
	for (size_t i = 0; i < array_size(titles); i++)
		text_right(text, TEXT_DIM, titles[i], COLUMNS);
	str_add_char(&text->out, '\n');
	for (unsigned metric = 0; metric < METRICS; metric++) {
		if (diff_metric_is_told(answer, metric))
			add_total(text, answer, metric);
	}
	add_suppressed(text, answer);
}

static void add_row(struct text *text, const struct diff_answer *answer, const struct diff_row *row)
{
	const enum metric metric = answer->diff.metric;
	const double change = diff_change(answer->sides, metric, row->sums);
	const unsigned side = row->stacks[DIFF_B] == UINT32_MAX ? DIFF_A : DIFF_B;
	const struct diff_subject *subject = &answer->subjects[side];
	const struct report_context context = {
		.model = subject->model,
		.names = subject->names,
		.mode = answer->settings->report.with.all_frames ? WALK_ALL : WALK_FOLD,
	};
	const enum text_style style = change > 0 ? TEXT_BAD : TEXT_GOOD;
	CLEAN(str_deinit) struct str words = { 0 };

	diff_add_change(&words, metric, change);
	text_right(text, style, str_text(&words), COLUMNS);
	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		str_clear(&words);
		diff_add_value(&words, metric,
			       diff_value(&answer->sides[i], metric, &row->sums[i]));
		text_right(text, TEXT_PLAIN, str_text(&words), COLUMNS);
	}
	text_right(text, TEXT_DIM, diff_status_word(diff_row_status(&answer->diff, row)),
		   STATUS_COLUMNS);
	str_add(&text->out, "  ");
	if (!row->function) {
		text_add(text, TEXT_BOLD, row->module);
		str_add_char(&text->out, '\n');
		return;
	}
	rank_frame(text, &context, rank_site_frame(&context, row->stacks[side]), 1, TEXT_BOLD,
		   text->width - NUMBERS_COLUMNS);
	if (answer->settings->by == DIFF_BY_STACK)
		rank_callers(text, &context, row->stacks[side], COLUMNS);
}

static void add_rows(struct text *text, const struct diff_answer *answer)
{
	CLEAN(str_deinit) struct str title = { 0 };
	static const char *const titles[] = { "difference", "A", "B" };

	str_add(&title, "By ");
	str_add(&title, diff_by_words[answer->settings->by]);
	text_heading(text, str_text(&title),
		     diff_metric_noun(answer->settings, answer->diff.metric));
	for (size_t i = 0; i < array_size(titles); i++)
		text_right(text, TEXT_DIM, titles[i], COLUMNS);
	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < answer->count; i++)
		add_row(text, answer, &answer->diff.rows[i]);
	if (answer->count < answer->changed_count) {
		text_style(text, TEXT_DIM);
		str_add(&text->out, "… and ");
		str_add_grouped(&text->out, answer->changed_count - answer->count);
		str_add(&text->out, " more that differ; --top N shows N\n");
		text_style(text, TEXT_PLAIN);
	}
}

/* What has no name is called by its address in the file, which another build has elsewhere. */
static bool is_unmatched(const struct diff_answer *answer, const struct diff_row *row)
{
	const enum diff_status status = diff_row_status(&answer->diff, row);

	return (status == DIFF_NEW || status == DIFF_GONE) && row->function &&
	       strncmp(row->function, "0x", 2) == 0;
}

static void add_nameless(struct text *text, const struct diff_answer *answer)
{
	double whole = 0, nameless = 0;

	for (size_t i = 0; i < answer->diff.count; i++) {
		const struct diff_row *row = &answer->diff.rows[i];
		const double change =
			diff_magnitude(diff_change(answer->sides, answer->diff.metric, row->sums));

		whole += change;
		nameless += is_unmatched(answer, row) ? change : 0;
	}
	if (nameless * NAMELESS_SHARE_MIN < whole || whole == 0)
		return;
	str_add_char(&text->out, '\n');
	text_add(text, TEXT_BAD, "! ");
	diff_add_percent(&text->out, nameless, whole);
	str_add(&text->out, " of what differs is in functions without names, which are found again "
			    "only in the same\n  build; --by module does not need them.\n");
}

static void add_gate(struct text *text, const struct diff_answer *answer)
{
	const struct gate *gate = answer->settings->gate;

	if (!gate)
		return;
	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < gate->count; i++) {
		const struct gate_condition *condition = &gate->conditions[i];
		const bool fails = diff_is_exceeded(answer, condition);

		text_add(text, fails ? TEXT_BAD : TEXT_GOOD, fails ? "failed" : "passed");
		str_add(&text->out, "  ");
		str_add_bytes(&text->out, condition->text, condition->text_len);
		str_add_char(&text->out, '\n');
	}
}

struct err *diff_write_text(const struct diff_answer *answer, FILE *out)
{
	CLEAN(text_deinit) struct text text = text_begin(&answer->settings->report);
	CLEAN(str_deinit) struct str verdict = { 0 };

	add_subject(&text, &answer->subjects[DIFF_A], "A");
	add_subject(&text, &answer->subjects[DIFF_B], "B");
	diff_add_verdict(&verdict, answer);
	str_add_char(&text.out, '\n');
	text_add(&text, TEXT_BOLD, str_text(&verdict));
	str_add(&text.out, ".\n");
	add_totals(&text, answer);
	if (answer->count > 0)
		add_rows(&text, answer);
	add_nameless(&text, answer);
	add_gate(&text, answer);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		const struct report_context context = {
			.model = answer->subjects[side].model,
			.names = answer->subjects[side].names,
		};

		if (side == DIFF_A || context.model != answer->subjects[DIFF_A].model)
			quality_text(&text, &context);
	}
	return text_write(&text, out);
}
