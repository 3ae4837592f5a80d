#include "report/diff_page.h"

#include <assert.h>

#include "report/diff_page_assets.h"
#include "report/quality.h"
#include "report/text.h"

enum { CHANGES = 25, ONE_SIDED = 20, MODULES = 12, NAME_COLUMNS = 300, QUALITY_COLUMNS = 100 };

static void add_number(struct str *out, const char *class, const char *words)
{
	str_printf(out, "<td class=\"number %s\">", class);
	str_add_xml(out, words);
	str_add(out, "</td>");
}

static void add_value(struct str *out, enum metric metric, double value)
{
	CLEAN(str_deinit) struct str words = { 0 };

	diff_add_value(&words, metric, value);
	add_number(out, "", str_text(&words));
}

static const char *class_of(double change)
{
	return change > 0 ? "more" : change < 0 ? "less" : "soft";
}

static void add_change(struct str *out, enum metric metric, double change)
{
	CLEAN(str_deinit) struct str words = { 0 };

	diff_add_change(&words, metric, change);
	add_number(out, class_of(change), str_text(&words));
}

/* --- subjects -------------------------------------------------------------------------------- */

static void add_subject(struct str *out, const struct diff_subject *subject, const char *side)
{
	const struct model_process *process = model_process(subject->model);

	str_printf(out, "<tr><th>%s</th><td class=\"what\">", side);
	str_add_xml(out, names_short_path(subject->tape));
	if (subject->moment) {
		str_add_char(out, ' ');
		str_add_xml(out, subject->moment);
	}
	str_add(out, "</td><td>");
	str_add_xml(out, names_short_path(process->exe));
	str_printf(out, " <span class=\"soft\">pid %u, ran ", process->pid);
	str_add_duration(out, process->duration_ns);
	str_add(out, "</span></td><td class=\"number\">");
	str_add_counted(out, model_totals(subject->model)->allocated.count, "allocation");
	if (subject->units > 1) {
		str_add(out, ", ");
		str_add_counted(out, subject->units, "unit");
		str_add(out, " of work");
	}
	str_add(out, "</td></tr>\n");
}

static void add_total(struct str *out, const struct diff_found *found, enum metric metric)
{
	const double change = diff_change(found->sides, metric, found->totals);
	double values[DIFF_SIDES];
	CLEAN(str_deinit) struct str share = { 0 };

	str_printf(out, "<tr><th>%s</th>", diff_metric_word(found->settings, metric));
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		values[side] = diff_value(&found->sides[side], metric, &found->totals[side]);
		add_value(out, metric, values[side]);
	}
	add_change(out, metric, change);
	diff_add_share(&share, values[DIFF_A], values[DIFF_B]);
	add_number(out, class_of(change), str_text(&share));
	str_add(out, "</tr>\n");
}

static void add_totals(struct str *out, const struct diff_found *found)
{
	str_add(out, "<h2>Totals</h2>\n<div class=\"wide\"><table id=\"totals\"><tr><th></th>"
		     "<th class=\"number\">A</th><th class=\"number\">B</th>"
		     "<th class=\"number\">difference</th><th></th></tr>\n");
	for (unsigned metric = 0; metric < METRICS; metric++) {
		if (diff_metric_is_told(found, metric))
			add_total(out, found, metric);
	}
	if ((unsigned)found->settings->metric >= METRICS)
		add_total(out, found, found->settings->metric);
	str_add(out, "</table></div>\n");
}

static void add_gate(struct str *out, const struct diff_found *found)
{
	const struct gate *gate = found->settings->gate;

	if (!gate)
		return;
	str_add(out, "<h2>Conditions</h2>\n");
	for (size_t i = 0; i < gate->count; i++) {
		const struct gate_condition *condition = &gate->conditions[i];
		const char *word = diff_is_exceeded(found, condition) ? "failed" : "passed";
		CLEAN(str_deinit) struct str text = { 0 };

		str_add_bytes(&text, condition->text, condition->text_len);
		str_add(&text, ": ");
		diff_add_measured(&text, found, condition);
		str_printf(out, "<p><span class=\"%s\">%s</span> ", word, word);
		str_add_xml(out, str_text(&text));
		str_add(out, "</p>\n");
		out->failed |= text.failed;
	}
}

/* --- rows ------------------------------------------------------------------------------------ */

static void add_name(struct str *out, const struct diff_row *row)
{
	CLEAN(str_deinit) struct str cut = { 0 };

	if (row->function)
		str_add_function(&cut, row->function, NAME_COLUMNS);
	else
		str_add_cut(&cut, row->module, NAME_COLUMNS);
	str_add(out, "<td class=\"what\">");
	str_add_xml(out, *str_text(&cut) ? str_text(&cut) : "other code");
	if (row->function && *row->module) {
		str_add(out, " <span class=\"soft\">");
		str_add_xml(out, row->module);
		str_add(out, "</span>");
	}
	str_add(out, "</td>");
	out->failed |= cut.failed;
}

/* From the middle to the left for less, to the right for more; length relative to `most`. */
static void add_bar(struct str *out, double change, double most)
{
	const unsigned length = most > 0 ? (unsigned)(diff_magnitude(change) * 60 / most + .5) : 0;

	str_printf(out,
		   "<td><svg class=\"bar\" viewBox=\"0 0 120 10\" aria-hidden=\"true\"><line "
		   "x1=\"60\" "
		   "x2=\"60\" y1=\"0\" y2=\"10\"/><rect class=\"%s\" x=\"%u\" width=\"%u\" "
		   "height=\"10\"/></svg></td>",
		   class_of(change), change < 0 ? 60 - length : 60, length);
}

/* status: only such rows; DIFF_SAME: all changed ones. Rows are sorted by size of the change. */
static void add_rows(struct str *out, const struct diff_found *found, const struct diff *diff,
		     enum diff_status status, size_t count_max)
{
	size_t count = 0, left = 0;
	double most = 0;

	for (size_t i = 0; i < diff->count; i++) {
		const struct diff_row *row = &diff->rows[i];
		const double change = diff_change(found->sides, diff->metric, row->sums);
		const enum diff_status is = diff_row_status(diff, row);

		if (change == 0 || (status != DIFF_SAME && is != status))
			continue;
		if (count == count_max) {
			left++;
			continue;
		}
		if (count++ == 0)
			most = diff_magnitude(change);
		str_add(out, "<tr>");
		add_change(out, diff->metric, change);
		add_bar(out, change, most);
		for (unsigned side = 0; side < DIFF_SIDES; side++)
			add_value(out, diff->metric,
				  diff_value(&found->sides[side], diff->metric, &row->sums[side]));
		str_printf(out, "<td class=\"soft\">%s</td>", diff_status_words[is]);
		add_name(out, row);
		str_add(out, "</tr>\n");
	}
	if (left > 0) {
		str_add(out, "<tr><td colspan=\"6\" class=\"soft\">… and ");
		str_add_grouped(out, left);
		str_add(out, " more</td></tr>\n");
	}
}

static void add_table(struct str *out, const struct diff_found *found, const struct diff *diff,
		      const char *title, enum diff_status status, size_t count_max)
{
	CLEAN(str_deinit) struct str rows = { 0 };

	add_rows(&rows, found, diff, status, count_max);
	str_printf(out, "<h2>%s</h2>\n", title);
	if (rows.len == 0) {
		str_add(out, "<p class=\"soft\">nothing</p>\n");
		return;
	}
	str_printf(
		out,
		"<div class=\"wide\"><table><tr><th class=\"number\">%s</th><th></th>"
		"<th class=\"number\">A</th><th class=\"number\">B</th><th></th><th></th></tr>\n",
		diff_metric_noun(found->settings, diff->metric));
	str_add(out, str_text(&rows));
	str_add(out, "</table></div>\n");
	out->failed |= rows.failed;
}

/* --- the page -------------------------------------------------------------------------------- */

static void add_head(struct str *out, const struct diff_found *found,
		     const struct diff_picture *picture, const char *verdict)
{
	str_printf(out,
		   "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		   "script-src %s; style-src %s %s; base-uri 'none'; form-action 'none'\">\n"
		   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		   "<title>",
		   picture->script_hash, diff_page_css_hash, picture->style_hash);
	str_add_xml(out, verdict);
	str_add(out, "</title>\n<style>\n");
	str_add(out, diff_page_css);
	str_add(out, "</style>\n</head>\n<body>\n<p class=\"soft\">memtape diff</p>\n<h1>");
	str_add_xml(out, verdict);
	str_add(out, "</h1>\n<div class=\"wide\"><table>\n");
	add_subject(out, &found->subjects[DIFF_A], "A");
	add_subject(out, &found->subjects[DIFF_B], "B");
	str_add(out, "</table></div>\n");
}

/* Warnings about losses and missing names, if any. */
static void add_quality(struct str *out, const struct diff_found *found)
{
	const struct report_settings settings = { .width = QUALITY_COLUMNS };

	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		const struct diff_subject *subject = &found->subjects[side];
		const struct report_context context = { .model = subject->model,
							.names = subject->names,
							.settings = &settings };
		CLEAN(text_deinit) struct text text = text_begin(&settings);

		if (side == DIFF_B && subject->model == found->subjects[DIFF_A].model)
			return;
		quality_text(&text, &context);
		if (text.out.len == 0)
			continue;
		str_printf(out, "<h2>About %c</h2>\n<pre>", side == DIFF_A ? 'A' : 'B');
		for (const char *at = str_text(&text.out); *at;) {
			const size_t len = strcspn(at, "\n");
			CLEAN(str_deinit) struct str line = { 0 };

			str_add_bytes(&line, at, len);
			str_add_xml(out, str_text(&line));
			str_add_char(out, '\n');
			at += len + (at[len] == '\n');
		}
		str_add(out, "</pre>\n");
	}
}

struct err *diff_page_write(const struct diff_found *found, const struct diff_picture *picture,
			    struct str *out)
{
	const struct diff_settings *settings = found->settings;
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(str_deinit) struct str verdict = { 0 };
	struct diff modules;
	struct err *err = diff_find(found->sides, DIFF_BY_MODULE, settings->mode, settings->metric,
				    &arena, &modules);

	assert(found->sides[DIFF_A].sums && found->sides[DIFF_B].sums);
	if (err)
		return err;
	diff_add_verdict(&verdict, found);
	add_head(out, found, picture, str_text(&verdict));
	add_totals(out, found);
	add_gate(out, found);
	str_add(out, "<h2>Where</h2>\n<div id=\"picture\">\n");
	str_add(out, picture->svg);
	str_add(out, "</div>\n");
	add_table(out, found, &found->diff, "What changed most", DIFF_SAME, CHANGES);
	add_table(out, found, &found->diff, "New in B", DIFF_NEW, ONE_SIDED);
	add_table(out, found, &found->diff, "Gone from B", DIFF_GONE, ONE_SIDED);
	add_table(out, found, &modules, "By library", DIFF_SAME, MODULES);
	add_quality(out, found);
	str_add(out, "</body>\n</html>\n");
	return out->failed || verdict.failed ? err_nomem() : NULL;
}
