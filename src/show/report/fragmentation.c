#include "questions/address_space.h"

#include "questions/questions.h"
#include "report/quality.h"
#include "report/rank.h"

enum { SITES_SHOWN = 12, COLUMNS = 11, LABEL_COLUMNS = 30, BAR_COLUMNS = 40, FRAME_INDENT = 60 };

static void add_fact(struct text *text, const char *label, uint64_t bytes, uint64_t whole,
		     const char *words)
{
	const size_t width = str_width(label);
	char number[STR_SHORT_BYTES];

	str_add(&text->out, "  ");
	text_add(text, TEXT_PLAIN, label);
	str_add_repeated(&text->out, ' ', width < LABEL_COLUMNS ? LABEL_COLUMNS - width : 1);
	text_right(text, TEXT_VALUE, str_iec(number, bytes), COLUMNS);
	text_right(text, TEXT_DIM, str_percent(number, bytes, whole), COLUMNS - 2);
	if (words[0]) {
		str_add(&text->out, "   ");
		text_add(text, TEXT_DIM, words);
	}
	str_add_char(&text->out, '\n');
}

static void add_facts(struct text *text, const struct space_waste *waste)
{
	const uint64_t whole = waste->resident;
	CLEAN(str_deinit) struct str free_words = { 0 };
	CLEAN(str_deinit) struct str partial_words = { 0 };
	CLEAN(str_deinit) struct str pinned_words = { 0 };
	CLEAN(str_deinit) struct str slack_words = { 0 };

	str_add_counted(&free_words, waste->free_pages, "page");
	str_add(&free_words, ", ");
	str_add_grouped(&free_words, waste->tail_pages);
	str_add(&free_words, " of them behind the last block of a region");
	str_add_counted(&partial_words, waste->partial_pages, "page");
	str_add(&partial_words, ", kept by ");
	str_add_counted(&partial_words, waste->partial_blocks, "block");
	str_add_counted(&pinned_words, waste->pinned_pages, "page");
	str_add(&pinned_words, " that one block keeps alone");
	str_add(&slack_words, "in ");
	str_add_counted(&slack_words, waste->live.count, "block");
	add_fact(text, "resident heap", whole, whole, "");
	add_fact(text, "live blocks in it", waste->live_resident, whole, "");
	add_fact(text, "wholly free pages", waste->free_pages << SPACE_PAGE_SHIFT, whole,
		 str_text(&free_words));
	add_fact(text, "unused in pages with blocks", waste->wasted, whole,
		 str_text(&partial_words));
	add_fact(text, "  of it pinned", waste->pinned_bytes, whole, str_text(&pinned_words));
	add_fact(text, "slack inside of blocks", waste->live.usable - waste->live.bytes, whole,
		 str_text(&slack_words));
}

static void add_fills(struct text *text, const struct space_waste *waste)
{
	static const char *const names[SPACE_FILLS + 1] = {
		"< 10 %", "< 20 %", "< 30 %", "< 40 %", "< 50 %", "< 60 %",
		"< 70 %", "< 80 %", "< 90 %", "< full", "full",
	};
	uint64_t counts[SPACE_FILLS + 2] = { waste->free_pages };
	uint64_t most = 1;
	char number[STR_SHORT_BYTES];

	memcpy(counts + 1, waste->fills, sizeof(waste->fills));
	counts[1] -= waste->free_pages;
	for (size_t i = 0; i < array_size(counts); i++)
		most = u64_max(most, counts[i]);
	text_heading(text, "Resident pages of the heap, by what of them is live", NULL);
	for (size_t i = 0; i < array_size(counts); i++) {
		if (counts[i] == 0)
			continue;
		text_right(text, TEXT_DIM, i == 0 ? "nothing" : names[i - 1], COLUMNS);
		text_right(text, TEXT_PLAIN, str_grouped(number, counts[i]), COLUMNS);
		str_add(&text->out, "  ");
		for (uint64_t at = 0; at < div_up(counts[i] * BAR_COLUMNS, most); at++)
			str_add(&text->out, "█");
		str_add_char(&text->out, '\n');
	}
}

/* Excess of blocks over the requested size, if it is at least a hundredth of the total. */
static void add_classes(struct text *text, const struct space_waste *waste)
{
	const uint64_t slack = waste->live.usable - waste->live.bytes;
	char number[STR_SHORT_BYTES];

	if (slack == 0)
		return;
	text_heading(text, "Slack, by the size that was requested", NULL);
	text_right(text, TEXT_DIM, "up to", COLUMNS);
	text_right(text, TEXT_DIM, "blocks", COLUMNS);
	text_right(text, TEXT_DIM, "live", COLUMNS);
	text_right(text, TEXT_DIM, "slack", COLUMNS);
	str_add_char(&text->out, '\n');
	for (unsigned i = 0; i < MODEL_SIZE_BUCKETS; i++) {
		const struct space_class *class = &waste->classes[i];

		if (class->slack * 100 < slack || class->slack == 0)
			continue;
		text_right(text, TEXT_DIM, str_iec(number, i == 0 ? 0 : UINT64_MAX >> (64 - i)),
			   COLUMNS);
		text_right(text, TEXT_PLAIN, str_grouped(number, class->count), COLUMNS);
		text_right(text, TEXT_PLAIN, str_iec(number, class->bytes), COLUMNS);
		text_right(text, TEXT_VALUE, str_iec(number, class->slack), COLUMNS);
		text_right(text, TEXT_DIM, str_percent(number, class->slack, class->bytes),
			   COLUMNS - 2);
		str_add_char(&text->out, '\n');
	}
}

static void add_site(struct text *text, const struct report_context *context,
		     const struct waste_site *site)
{
	char number[STR_SHORT_BYTES];

	text_right(text, TEXT_VALUE, str_iec(number, site->sums.peak.bytes), COLUMNS);
	text_right(text, TEXT_PLAIN, str_iec(number, site->sums.leaked.bytes), COLUMNS);
	text_right(text, TEXT_PLAIN, str_grouped(number, site->sums.leaked.count), COLUMNS - 2);
	text_right(text, TEXT_PLAIN, str_grouped(number, site->sums.allocated.count), COLUMNS - 1);
	text_right(text, TEXT_PLAIN, str_iec(number, site->sums.allocated.bytes), COLUMNS);
	str_add(&text->out, "  ");
	rank_frame(text, context, rank_site_frame(context, site->stack), 1, TEXT_BOLD,
		   text->width > FRAME_INDENT + 20 ? text->width - FRAME_INDENT : 20);
	rank_callers(text, context, site->stack, FRAME_INDENT / 2);
}

static struct err *fragmentation_text(const struct report_context *context, const void *result,
				      FILE *out)
{
	const struct fragmentation *answer = result;
	const struct space_waste *waste = &answer->waste;
	const struct waste_site *sites = answer->sites.items;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	CLEAN(str_deinit) struct str title = { 0 };

	text_head(&text, context->model);
	str_add(&title, "The heap after ");
	str_add_duration(&title, waste->ns);
	text_heading(&text, str_text(&title),
		     !answer->has_snapshot
			     ? "no snapshot of the address space on this tape: pages with live "
			       "blocks only, all taken to be resident"
		     : waste->is_exact ? NULL
				       : "not of all of it is known which pages are resident");
	add_facts(&text, waste);
	add_fills(&text, waste);
	add_classes(&text, waste);
	if (answer->sites.count > 0) {
		text_heading(&text, "Whose blocks leave pages unused",
			     "each is charged its part of its page");
		text_right(&text, TEXT_DIM, "unused", COLUMNS);
		text_right(&text, TEXT_DIM, "pinned", COLUMNS);
		text_right(&text, TEXT_DIM, "pages", COLUMNS - 2);
		text_right(&text, TEXT_DIM, "blocks", COLUMNS - 1);
		text_right(&text, TEXT_DIM, "live", COLUMNS);
		text_add(&text, TEXT_DIM, "  function");
		str_add_char(&text.out, '\n');
	}
	for (size_t i = 0; i < answer->sites.count; i++)
		add_site(&text, context, &sites[i]);
	quality_text(&text, context);
	return text_write(&text, out);
}

static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = SITES_SHOWN;
}

const struct report report_fragmentation = {
	.question = &question_fragmentation,
	.text = fragmentation_text,
	.for_text = for_text,
};
