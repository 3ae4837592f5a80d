#include "questions/between.h"

#include "questions/questions.h"
#include "report/quality.h"
#include "report/rank.h"

enum { SITES_SHOWN = 12, COLUMNS = 12, NUMBERS_COLUMNS = 5 * COLUMNS + 2 };

static void add_signed(struct str *out, int64_t bytes)
{
	const uint64_t size = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;

	if (bytes != 0)
		str_add(out, bytes < 0 ? "-" : "+");
	str_add_iec(out, size);
}

static void add_fact(struct text *text, const char *label, const struct model_sum *sum,
		     const char *words)
{
	char value[STR_SHORT_BYTES];

	text_label(text, label);
	text_right(text, TEXT_VALUE, str_iec(value, sum->bytes), COLUMNS);
	str_add(&text->out, "   in ");
	str_add_counted(&text->out, sum->count, "block");
	str_add(&text->out, words);
	str_add_char(&text->out, '\n');
}

static void add_facts(struct text *text, const struct between_answer *answer)
{
	const struct span_sums *total = &answer->total.sums;
	CLEAN(str_deinit) struct str title = { 0 };
	CLEAN(str_deinit) struct str net = { 0 };

	str_add(&title, "Between ");
	str_add_duration(&title, answer->from_ns);
	str_add(&title, " and ");
	str_add_duration(&title, answer->until_ns);
	text_heading(text, str_text(&title), NULL);
	add_fact(text, "allocated", &total->allocated, "");
	add_fact(text, "survived", &total->survived, " of those, alive at the end of the span");
	add_fact(text, "freed", &total->freed, ", also of those allocated before");
	text_label(text, "live");
	add_signed(&net, answer->total.net_bytes);
	text_right(text, TEXT_VALUE, str_text(&net), COLUMNS);
	str_add(&text->out, "   from ");
	str_add_iec(&text->out, total->before.bytes);
	str_add(&text->out, " to ");
	str_add_iec(&text->out, total->after.bytes);
	str_add_char(&text->out, '\n');
}

static void add_columns(struct text *text)
{
	static const char *const titles[] = { "survived", "blocks", "net", "allocated", "freed" };

	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < array_size(titles); i++)
		text_right(text, TEXT_DIM, titles[i], COLUMNS);
	text_add(text, TEXT_DIM, "  function");
	str_add_char(&text->out, '\n');
}

static void add_site(struct text *text, const struct report_context *context,
		     const struct span_site *site)
{
	const struct span_sums *sums = &site->sums.sums;
	const int64_t net_bytes = site->sums.net_bytes;
	CLEAN(str_deinit) struct str net = { 0 };
	char words[STR_SHORT_BYTES];

	add_signed(&net, net_bytes);
	text_right(text, TEXT_VALUE, str_iec(words, sums->survived.bytes), COLUMNS);
	text_right(text, TEXT_PLAIN, str_grouped(words, sums->survived.count), COLUMNS);
	text_right(text, net_bytes > 0 ? TEXT_BAD : TEXT_GOOD, str_text(&net), COLUMNS);
	text_right(text, TEXT_PLAIN, str_iec(words, sums->allocated.bytes), COLUMNS);
	text_right(text, TEXT_PLAIN, str_iec(words, sums->freed.bytes), COLUMNS);
	str_add(&text->out, "  ");
	rank_frame(text, context, rank_site_frame(context, site->stack), 1, TEXT_BOLD,
		   text->width - NUMBERS_COLUMNS);
	rank_callers(text, context, site->stack, COLUMNS);
}

static struct err *between_text(const struct report_context *context, const void *answer, FILE *out)
{
	const struct between_answer *between = answer;
	const struct span_site *sites = between->sites.items;
	const size_t count = between->sites.count - between->sites.quiet_count;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);

	text_head(&text, context->model);
	add_facts(&text, between);
	if (count > 0)
		add_columns(&text);
	for (size_t i = 0; i < count; i++)
		add_site(&text, context, &sites[i]);
	quality_text(&text, context);
	return text_write(&text, out);
}

static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = SITES_SHOWN;
}

const struct report report_between = {
	.question = &question_between,
	.text = between_text,
	.for_text = for_text,
};
