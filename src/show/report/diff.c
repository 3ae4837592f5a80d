#include <assert.h>

#include "answer/speak.h"
#include "report/diff.h"
#include "report/quality.h"
#include "report/rank.h"
#include "answer/program.h"
#include "report/text.h"

enum {
	COLUMNS = 12,
	STATUS_COLUMNS = 8,
	NUMBERS_COLUMNS = 3 * COLUMNS + STATUS_COLUMNS + 2,
	ROWS_SHOWN = 12,
	NAMELESS_SHARE_MIN = 10 /* at least one in this many of the differences */
};

static void add_subject(struct text *text, const struct diff_subject *subject, const char *name)
{
	const struct model_process *process = model_process(subject->model);
	CLEAN(str_deinit) struct str words = { 0 };
	CLEAN(str_deinit) struct str shown = { 0 };

	str_add(&words, subject->tape);
	if (subject->moment) {
		str_add(&words, " ");
		str_add(&words, subject->moment);
	}
	str_add(&words, "   ");
	program_command_add(&words, process);
	str_add_cut(&shown, str_text(&words), text->width - 4);
	text_add(text, TEXT_BOLD, name);
	str_add(&text->out, "  ");
	text_add(text, TEXT_PLAIN, str_text(&shown));
	str_add_char(&text->out, '\n');
}

/* What nobody chose is said, and how to choose. */
static void add_pair(struct text *text, const struct diff_found *found)
{
	CLEAN(str_deinit) struct str words = { 0 };

	if (!found->settings->pair)
		return;
	str_printf(&words, "   Live memory %s; --at T,T compares other times.",
		   found->settings->pair);
	text_add(text, TEXT_DIM, str_text(&words));
	str_add_char(&text->out, '\n');
}

static void add_total(struct text *text, const struct diff_found *found, enum metric metric)
{
	const double change = diff_change(found->sides, metric, found->totals);
	const enum text_style style = change > 0 ? TEXT_BAD : change < 0 ? TEXT_GOOD : TEXT_PLAIN;
	const double values[DIFF_SIDES] = {
		diff_value(&found->sides[DIFF_A], metric, &found->totals[DIFF_A]),
		diff_value(&found->sides[DIFF_B], metric, &found->totals[DIFF_B]),
	};
	CLEAN(str_deinit) struct str words = { 0 };

	text_label(text, diff_metric_word(found->settings, metric));
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		str_clear(&words);
		diff_add_value(&words, metric, values[side]);
		text_right(text, TEXT_VALUE, str_text(&words), COLUMNS);
	}
	str_clear(&words);
	diff_add_change(&words, metric, change);
	text_right(text, style, str_text(&words), COLUMNS);
	str_clear(&words);
	diff_add_share(&words, values[DIFF_A], values[DIFF_B]);
	text_right(text, style, str_text(&words), COLUMNS);
	str_add_char(&text->out, '\n');
}

/* Suppressed leaks, for readers who miss them. */
static void add_suppressed(struct text *text, const struct diff_found *found)
{
	const struct diff_subject *subjects = found->subjects;
	char words[STR_SHORT_BYTES];

	if (subjects[DIFF_A].suppressed.count + subjects[DIFF_B].suppressed.count == 0)
		return;
	text_label(text, "suppressed");
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		text_right(text, TEXT_DIM, str_iec(words, subjects[side].suppressed.bytes),
			   COLUMNS);
	str_add_char(&text->out, '\n');
}

static void add_totals(struct text *text, const struct diff_found *found)
{
	static const char *const titles[] = { "A", "B", "difference", "" };

	str_add_char(&text->out, '\n');
	text_label(text, "");
	for (size_t i = 0; i < array_size(titles); i++)
		text_right(text, TEXT_DIM, titles[i], COLUMNS);
	str_add_char(&text->out, '\n');
	for (unsigned metric = 0; metric < METRICS; metric++) {
		if (diff_metric_is_told(found, metric))
			add_total(text, found, metric);
	}
	if ((unsigned)found->settings->metric >= METRICS)
		add_total(text, found, found->settings->metric);
	add_suppressed(text, found);
}

static void add_row(struct text *text, const struct diff_found *found, const struct diff_row *row)
{
	const enum metric metric = found->diff.metric;
	const double change = diff_change(found->sides, metric, row->sums);
	const unsigned side = row->stacks[DIFF_B] == UINT32_MAX ? DIFF_A : DIFF_B;
	const struct diff_subject *subject = &found->subjects[side];
	const struct report_context context = {
		.model = subject->model,
		.names = subject->names,
		.mode = found->settings->mode,
	};
	const enum text_style style = change > 0 ? TEXT_BAD : TEXT_GOOD;
	CLEAN(str_deinit) struct str words = { 0 };

	diff_add_change(&words, metric, change);
	text_right(text, style, str_text(&words), COLUMNS);
	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		str_clear(&words);
		diff_add_value(&words, metric, diff_value(&found->sides[i], metric, &row->sums[i]));
		text_right(text, TEXT_PLAIN, str_text(&words), COLUMNS);
	}
	text_right(text, TEXT_DIM, diff_status_words[diff_row_status(&found->diff, row)],
		   STATUS_COLUMNS);
	str_add(&text->out, "  ");
	if (!row->function) {
		text_add(text, TEXT_BOLD, row->module);
		str_add_char(&text->out, '\n');
		return;
	}
	rank_frame(text, &context, rank_site_frame(&context, row->stacks[side]), 1, TEXT_BOLD,
		   text->width - NUMBERS_COLUMNS);
	if (found->settings->by == DIFF_BY_STACK)
		rank_callers(text, &context, row->stacks[side], COLUMNS);
}

static void add_rows(struct text *text, const struct diff_found *found, uint64_t top)
{
	CLEAN(str_deinit) struct str title = { 0 };
	static const char *const titles[] = { "difference", "A", "B" };
	/* Unchanged rows come last. */
	const uint64_t count = u64_min(found->changed_count, top ? top : ROWS_SHOWN);

	if (count == 0)
		return;
	str_add(&title, "By ");
	str_add(&title, diff_by_words[found->settings->by]);
	text_heading(text, str_text(&title), diff_metric_noun(found->settings, found->diff.metric));
	for (size_t i = 0; i < array_size(titles); i++)
		text_right(text, TEXT_DIM, titles[i], COLUMNS);
	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < count; i++)
		add_row(text, found, &found->diff.rows[i]);
	if (count < found->changed_count) {
		text_style(text, TEXT_DIM);
		str_add(&text->out, "… and ");
		str_add_grouped(&text->out, found->changed_count - count);
		str_add(&text->out, " more that differ; --top N shows N\n");
		text_style(text, TEXT_PLAIN);
	}
}

/* Functions without names are identified by file address, which differs between builds. */
static bool is_unmatched(const struct diff_found *found, const struct diff_row *row)
{
	const enum diff_status status = diff_row_status(&found->diff, row);

	return (status == DIFF_NEW || status == DIFF_GONE) && row->function &&
	       strncmp(row->function, "0x", 2) == 0;
}

static void add_nameless(struct text *text, const struct diff_found *found)
{
	double whole = 0, nameless = 0;

	for (size_t i = 0; i < found->diff.count; i++) {
		const struct diff_row *row = &found->diff.rows[i];
		const double change =
			diff_magnitude(diff_change(found->sides, found->diff.metric, row->sums));

		whole += change;
		nameless += is_unmatched(found, row) ? change : 0;
	}
	if (nameless * NAMELESS_SHARE_MIN < whole || whole == 0)
		return;
	str_add_char(&text->out, '\n');
	text_add(text, TEXT_BAD, "! ");
	diff_add_percent(&text->out, nameless, whole);
	str_add(&text->out, " of what differs is in functions without names, which are found again "
			    "only in the same\n  build; --by module does not need them.\n");
}

static void add_gate(struct text *text, const struct diff_found *found)
{
	const struct gate *gate = found->settings->gate;

	if (!gate)
		return;
	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < gate->count; i++) {
		const struct gate_condition *condition = &gate->conditions[i];
		const bool fails = diff_is_exceeded(found, condition);

		text_add(text, fails ? TEXT_BAD : TEXT_GOOD, fails ? "failed" : "passed");
		str_add(&text->out, "  ");
		str_add_bytes(&text->out, condition->text, condition->text_len);
		str_add(&text->out, ": ");
		diff_add_measured(&text->out, found, condition);
		str_add_char(&text->out, '\n');
	}
}

static struct err *write_text(const struct diff_found *found,
			      const struct report_settings *settings, FILE *out)
{
	CLEAN(text_deinit) struct text text = text_begin(settings);
	CLEAN(str_deinit) struct str verdict = { 0 };

	add_subject(&text, &found->subjects[DIFF_A], "A");
	add_subject(&text, &found->subjects[DIFF_B], "B");
	add_pair(&text, found);
	diff_add_verdict(&verdict, found);
	str_add_char(&text.out, '\n');
	text_add(&text, TEXT_BOLD, str_text(&verdict));
	str_add(&text.out, ".\n");
	add_totals(&text, found);
	add_rows(&text, found, settings->with.top);
	add_nameless(&text, found);
	add_gate(&text, found);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		const struct report_context context = {
			.model = found->subjects[side].model,
			.names = found->subjects[side].names,
			.selection = found->subjects[side].selection,
			.settings = settings,
		};

		if (side == DIFF_A || context.model != found->subjects[DIFF_A].model)
			quality_text(&text, &context);
	}
	return text_write(&text, out);
}

static struct err *write_data(const struct diff_found *found,
			      const struct report_settings *settings, FILE *out)
{
	const struct diff_part part = { .row_max = settings->with.top, .has_stacks = true };
	const struct emit_settings how = { .format = settings->format };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &how);
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct speaker speaker = { .emit = emit, .mode = found->settings->mode };
	void *value = arena_alloc(&arena, shape_diff.bytes);
	struct err *err;

	if (!emit || !value)
		return err_nomem();
	err = diff_value_fill(found, &part, &arena, value);
	if (err)
		return err;
	if (settings->format == EMIT_CSV)
		err = speak_table(&speaker, &shape_diff, value);
	else
		err = speak_object(&speaker, &shape_diff, value);
	return err ? err : emit_finish(emit);
}

struct err *diff_report(const struct diff_found *found, const struct report_settings *settings,
			FILE *out)
{
	assert(found->sides[DIFF_A].units >= 1 && found->sides[DIFF_B].units >= 1);
	return settings->format == EMIT_TEXT ? write_text(found, settings, out)
					     : write_data(found, settings, out);
}
