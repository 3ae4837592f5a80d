/*
 * stale: what of the live memory is used, for how long it was not, and whose it is.
 */
#include "questions/address_space.h"

#include "questions/questions.h"
#include "report/quality.h"
#include "report/rank.h"

enum { SITES_SHOWN = 12, COLUMNS = 11, LABEL_COLUMNS = 26, BAR_COLUMNS = 40, FRAME_INDENT = 58 };

static void add_fact(struct text *text, const char *label, uint64_t bytes, uint64_t whole,
		     const char *words)
{
	char number[STR_SHORT_BYTES];

	str_add(&text->out, "  ");
	text_add(text, TEXT_PLAIN, label);
	str_add_repeated(&text->out, ' ', LABEL_COLUMNS - str_width(label));
	text_right(text, TEXT_VALUE, str_iec(number, bytes), COLUMNS);
	text_right(text, TEXT_DIM, str_percent(number, bytes, whole), COLUMNS - 2);
	str_add(&text->out, "   ");
	text_add(text, TEXT_DIM, words);
	str_add_char(&text->out, '\n');
}

static void add_facts(struct text *text, const struct stale_answer *answer)
{
	const struct stale_sums *sums = &answer->sums;
	CLEAN(str_deinit) struct str idle = { 0 };
	CLEAN(str_deinit) struct str blocks = { 0 };
	CLEAN(str_deinit) struct str recent = { 0 };

	str_printf(&idle, "not %s for ", answer->done);
	str_add_duration(&idle, answer->idle_ns);
	str_add(&idle, " or longer: ");
	str_add_counted(&idle, sums->stale_blocks, "whole block");
	str_add(&blocks, "in ");
	str_add_counted(&blocks, sums->blocks, "block");
	add_fact(text, "live", sums->bytes, sums->bytes, str_text(&blocks));
	add_fact(text, "  stale", sums->stale, sums->bytes, str_text(&idle));
	str_printf(&recent, "  %s since", answer->done);
	add_fact(text, str_text(&recent), sums->recent, sums->bytes, "");
	add_fact(text, "  no memory behind it", sums->untouched, sums->bytes,
		 "never touched, or given back");
	if (sums->unknown > 0)
		add_fact(text, "  unknown", sums->unknown, sums->bytes, "not watched for so long");
}

static void add_ages(struct text *text, const struct stale_answer *answer)
{
	const struct stale_age *ages = answer->ages.items;
	CLEAN(str_deinit) struct str title = { 0 };
	char number[STR_SHORT_BYTES];
	uint64_t most = 1;

	for (size_t i = 0; i < answer->ages.count; i++)
		most = u64_max(most, ages[i].bytes);
	str_printf(&title, "For how long it was not %s", answer->done);
	text_heading(text, str_text(&title), "at least; by page");
	for (size_t i = 0; i < answer->ages.count; i++) {
		CLEAN(str_deinit) struct str age = { 0 };

		if (ages[i].bytes == 0)
			continue;
		str_add(&age, ages[i].until_ns == SHAPE_NONE ? "more than " : "less than ");
		str_add_duration(&age, ages[i].until_ns == SHAPE_NONE ? ages[i].from_ns
								      : ages[i].until_ns);
		text_right(text, TEXT_DIM, str_text(&age), LABEL_COLUMNS - 4);
		text_right(text, TEXT_PLAIN, str_iec(number, ages[i].bytes), COLUMNS);
		str_add(&text->out, "  ");
		text_bar(text, ages[i].bytes, most, BAR_COLUMNS);
		str_add_char(&text->out, '\n');
	}
}

static void add_site(struct text *text, const struct report_context *context,
		     const struct stale_site *site)
{
	CLEAN(str_deinit) struct str oldest = { 0 };
	char number[STR_SHORT_BYTES];

	text_right(text, TEXT_VALUE, str_iec(number, site->sums.stale), COLUMNS);
	text_right(text, TEXT_DIM, str_percent(number, site->sums.stale, site->sums.bytes),
		   COLUMNS - 3);
	text_right(text, TEXT_PLAIN, str_iec(number, site->sums.bytes), COLUMNS);
	text_right(text, TEXT_PLAIN, str_grouped(number, site->sums.blocks), COLUMNS - 1);
	if (site->oldest_ns != SHAPE_NONE)
		str_add_duration(&oldest, site->oldest_ns);
	text_right(text, TEXT_PLAIN, str_text(&oldest), COLUMNS);
	str_add(&text->out, "  ");
	rank_frame(text, context, rank_site_frame(context, site->stack), 1, TEXT_BOLD,
		   text->width > FRAME_INDENT + 20 ? text->width - FRAME_INDENT : 20);
	rank_callers(text, context, site->stack, FRAME_INDENT / 2);
}

static void add_sites(struct text *text, const struct report_context *context,
		      const struct stale_answer *answer)
{
	const struct stale_site *sites = answer->sites.items;

	text_heading(text, "Whose it is", NULL);
	text_right(text, TEXT_DIM, "stale", COLUMNS);
	text_right(text, TEXT_DIM, "of", COLUMNS - 3);
	text_right(text, TEXT_DIM, "live", COLUMNS);
	text_right(text, TEXT_DIM, "blocks", COLUMNS - 1);
	text_right(text, TEXT_DIM, "longest", COLUMNS);
	text_add(text, TEXT_DIM, "  function");
	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < answer->sites.count; i++)
		if (sites[i].sums.stale > 0)
			add_site(text, context, &sites[i]);
}

static struct err *stale_text(const struct report_context *context, const void *result, FILE *out)
{
	const struct stale_answer *answer = result;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	CLEAN(str_deinit) struct str title = { 0 };
	CLEAN(str_deinit) struct str looks = { 0 };

	text_head(&text, context->model);
	str_add(&title, "Live memory after ");
	str_add_duration(&title, answer->ns);
	str_add(&looks, "looked at every ");
	str_add_duration(&looks, answer->period_ns);
	str_printf(&looks, "; %s", answer->precision);
	text_heading(&text, str_text(&title), str_text(&looks));
	add_facts(&text, answer);
	add_ages(&text, answer);
	if (answer->sums.stale > 0)
		add_sites(&text, context, answer);
	if (answer->blind) {
		str_add(&text.out, "\nWhat is only read was not seen: ");
		text_add(&text, TEXT_PLAIN, answer->blind);
		str_add_char(&text.out, '\n');
	}
	if (answer->trouble) {
		str_add(&text.out, "\nWatching ended: ");
		text_add(&text, TEXT_PLAIN, answer->trouble);
		str_add_char(&text.out, '\n');
	}
	quality_text(&text, context);
	return text_write(&text, out);
}

static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = SITES_SHOWN;
}

const struct report report_stale = {
	.question = &question_stale,
	.text = stale_text,
	.for_text = for_text,
};
