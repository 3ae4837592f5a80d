#include "questions/reallocs.h"

#include <math.h>

#include "questions/questions.h"
#include "report/quality.h"
#include "report/rank.h"

enum { SITES_SHOWN = 8, CHAINS_SHOWN = 6, COLUMNS = 11, NUMBERS_COLUMNS = 6 * COLUMNS + 2 };

/* "x1.50 a step", "+4.0 KiB a step"; nothing for a block that did not grow. */
static void add_growth(struct str *out, const struct growth *growth)
{
	if (growth->increment_bytes != SHAPE_NONE) {
		str_add_char(out, '+');
		str_add_iec(out, growth->increment_bytes);
	} else if (!isnan(growth->factor)) {
		str_add(out, "×");
		str_add_double(out, growth->factor, 2);
	} else {
		str_add_char(out, '-');
	}
}

static void add_number(struct text *text, uint64_t number)
{
	char words[STR_SHORT_BYTES];

	text_right(text, TEXT_PLAIN, str_grouped(words, number), COLUMNS);
}

static void add_total(struct text *text, const struct realloc_sums *total)
{
	CLEAN(str_deinit) struct str right = { 0 };

	str_add_counted(&right, total->steps, "time");
	str_add(&right, " in ");
	str_add_counted(&right, total->chains, "block");
	str_add(&right, ", ");
	str_add_percent(&right, total->moved, total->steps);
	str_add(&right, " of them moved: ");
	str_add_iec(&right, total->copied_bytes);
	str_add(&right, " copied at most");
	text_heading(text, "Reallocated", str_text(&right));
}

static void add_titles(struct text *text)
{
	static const char *const titles[] = { "copied",	 "steps",   "blocks",
					      "longest", "largest", "growth" };

	for (size_t i = 0; i < array_size(titles); i++)
		text_right(text, TEXT_DIM, titles[i], COLUMNS);
	text_add(text, TEXT_DIM, "  function");
	str_add_char(&text->out, '\n');
}

static void add_hint(struct text *text, const struct realloc_sums *sums)
{
	if (sums->constant_chains == 0)
		return;
	str_add_repeated(&text->out, ' ', COLUMNS);
	text_style(text, TEXT_BAD);
	str_add(&text->out, "! ");
	str_add_counted(&text->out, sums->constant_chains, "block");
	str_add(&text->out,
		" grew by constant steps and moved again and again: reserve the size, or "
		"grow by a factor");
	text_style(text, TEXT_PLAIN);
	str_add_char(&text->out, '\n');
}

static void add_site(struct text *text, const struct report_context *context,
		     const struct grown_site *site)
{
	const struct realloc_sums *sums = &site->sums;
	CLEAN(str_deinit) struct str growth = { 0 };
	char words[STR_SHORT_BYTES];

	add_growth(&growth, &site->growth);
	text_right(text, TEXT_VALUE, str_iec(words, sums->copied_bytes), COLUMNS);
	add_number(text, sums->steps);
	add_number(text, sums->chains);
	add_number(text, sums->longest);
	text_right(text, TEXT_PLAIN, str_iec(words, sums->last_bytes_max), COLUMNS);
	text_right(text, TEXT_PLAIN, str_text(&growth), COLUMNS);
	str_add(&text->out, "  ");
	rank_frame(text, context, rank_site_frame(context, site->stack), 1, TEXT_BOLD,
		   text->width - NUMBERS_COLUMNS);
	rank_callers(text, context, site->stack, COLUMNS);
	add_hint(text, sums);
}

static void add_chain(struct text *text, const struct report_context *context,
		      const struct grown_block *block)
{
	const struct realloc_chain *chain = &block->chain;
	CLEAN(str_deinit) struct str growth = { 0 };
	char words[STR_SHORT_BYTES];

	add_growth(&growth, &block->growth);
	text_right(text, TEXT_VALUE, str_iec(words, chain->copied_bytes), COLUMNS);
	add_number(text, chain->steps);
	add_number(text, chain->moved);
	text_right(text, TEXT_PLAIN, str_iec(words, chain->first_bytes), COLUMNS);
	text_right(text, TEXT_PLAIN, str_iec(words, chain->last_bytes), COLUMNS);
	text_right(text, TEXT_PLAIN, str_text(&growth), COLUMNS);
	str_add(&text->out, "  ");
	rank_frame(text, context, rank_site_frame(context, chain->stack), 1, TEXT_PLAIN,
		   text->width - NUMBERS_COLUMNS);
}

static void add_chains(struct text *text, const struct report_context *context,
		       const struct reallocs_answer *answer)
{
	static const char *const titles[] = { "copied", "steps", "moved", "from", "to", "growth" };
	const struct grown_block *blocks = answer->chains.items;

	text_heading(text, "Single blocks",
		     answer->order == REALLOC_BY_LENGTH ? "that were reallocated most often"
		     : answer->order == REALLOC_BY_SIZE ? "that became largest"
							: "that were copied most");
	for (size_t i = 0; i < array_size(titles); i++)
		text_right(text, TEXT_DIM, titles[i], COLUMNS);
	text_add(text, TEXT_DIM, "  function");
	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < answer->chains.count && i < CHAINS_SHOWN; i++)
		add_chain(text, context, &blocks[i]);
}

static struct err *reallocs_text(const struct report_context *context, const void *answer,
				 FILE *out)
{
	const struct reallocs_answer *reallocs = answer;
	const struct grown_site *sites = reallocs->sites.items;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);

	text_head(&text, context->model);
	if (reallocs->sites.count == 0) {
		str_add_char(&text.out, '\n');
		text_add(&text, TEXT_GOOD, "Nothing was reallocated.");
		str_add_char(&text.out, '\n');
	} else {
		add_total(&text, &reallocs->total);
		add_titles(&text);
		for (size_t i = 0; i < reallocs->sites.count; i++)
			add_site(&text, context, &sites[i]);
		add_chains(&text, context, reallocs);
	}
	quality_text(&text, context);
	return text_write(&text, out);
}

static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = SITES_SHOWN;
}

const struct report report_reallocs = {
	.question = &question_reallocs,
	.text = reallocs_text,
	.for_text = for_text,
};
