#include "questions/lifetimes.h"

#include "questions/questions.h"
#include "report/quality.h"
#include "report/rank.h"

enum { SITES_SHOWN = 10, RANGE_COLUMNS = 20, COLUMNS = 12, BAR_COLUMNS_MAX = 40 };

static void add_range(struct str *out, const struct lifetime_row *row)
{
	if (row->min_ns == 0) {
		str_add(out, "under ");
		str_add_duration(out, row->max_ns + 1);
		return;
	}
	str_add_duration(out, row->min_ns);
	if (row->max_ns == SHAPE_NONE) {
		str_add(out, " and more");
		return;
	}
	str_add(out, " - ");
	str_add_duration(out, row->max_ns + 1);
}

static void add_line(struct text *text, const char *range, uint64_t count, uint64_t bytes,
		     const struct lived *lived)
{
	const uint64_t whole =
		lived->freed_count + lived->never_freed_count + lived->freed_unseen_count;
	char words[STR_SHORT_BYTES];

	text_right(text, TEXT_PLAIN, range, RANGE_COLUMNS);
	text_right(text, TEXT_VALUE, str_grouped(words, count), COLUMNS);
	text_right(text, TEXT_BOLD, str_percent(words, count, whole), COLUMNS - 2);
	text_right(text, TEXT_PLAIN, str_iec(words, bytes), COLUMNS);
	str_add(&text->out, "  ");
	text_bar(text, count, whole, BAR_COLUMNS_MAX);
	str_add_char(&text->out, '\n');
}

/* From the first bucket with blocks to the last; there is at least one. */
static void add_freed(struct text *text, const struct lifetimes_answer *answer)
{
	const struct lifetime_row *rows = answer->lifetimes.items;
	size_t first = 0, end = answer->lifetimes.count;

	while (first + 1 < end && rows[first].count == 0)
		first++;
	while (end > first + 1 && rows[end - 1].count == 0)
		end--;
	for (size_t i = first; i < end; i++) {
		CLEAN(str_deinit) struct str range = { 0 };

		add_range(&range, &rows[i]);
		add_line(text, str_text(&range), rows[i].count, rows[i].bytes, &answer->lived);
	}
}

static void add_buckets(struct text *text, const struct lifetimes_answer *answer)
{
	const struct lived *lived = &answer->lived;

	if (lived->freed_count == 0)
		str_add(&text->out, "No block was freed, so there are no lifetimes.\n\n");
	text_right(text, TEXT_DIM, "lived", RANGE_COLUMNS);
	text_right(text, TEXT_DIM, "blocks", COLUMNS);
	text_right(text, TEXT_DIM, "share", COLUMNS - 2);
	text_right(text, TEXT_DIM, "bytes", COLUMNS);
	str_add_char(&text->out, '\n');
	if (lived->freed_count > 0)
		add_freed(text, answer);
	add_line(text, "never freed", lived->never_freed_count, lived->never_freed_bytes, lived);
	if (lived->freed_unseen_count > 0)
		add_line(text, "freed unseen", lived->freed_unseen_count, lived->freed_unseen_bytes,
			 lived);
}

static void add_percentiles(struct text *text, const struct lived *lived)
{
	const struct {
		const char *words;
		uint64_t ns;
	} parts[] = {
		{ "half lived at most ", lived->p50_ns },
		{ ", 90 % ", lived->p90_ns },
		{ ", 99 % ", lived->p99_ns },
		{ ", 99.9 % ", lived->p999_ns },
		{ ", all ", lived->max_ns },
	};

	if (lived->freed_count == 0)
		return;
	str_add(&text->out, "\nOf those freed, ");
	for (size_t i = 0; i < array_size(parts); i++) {
		str_add(&text->out, parts[i].words);
		text_style(text, TEXT_VALUE);
		str_add_duration(&text->out, parts[i].ns);
		text_style(text, TEXT_PLAIN);
	}
	str_add(&text->out, ".\n");
}

static void add_site(struct text *text, const struct report_context *context,
		     const struct lifetime_site *site)
{
	const struct lived *lived = &site->lived;
	const uint64_t times[] = { lived->p50_ns, lived->p90_ns, lived->p99_ns, lived->max_ns };
	char words[STR_SHORT_BYTES];

	text_right(text, TEXT_VALUE, str_grouped(words, site->block_count), COLUMNS);
	text_right(text, TEXT_PLAIN, str_grouped(words, lived->never_freed_count), COLUMNS);
	for (size_t i = 0; i < array_size(times); i++)
		text_right(text, TEXT_PLAIN,
			   times[i] == SHAPE_NONE ? "-" : str_duration(words, times[i]),
			   COLUMNS - 2);
	str_add(&text->out, "  ");
	rank_frame(text, context, rank_site_frame(context, site->stack), 1, TEXT_BOLD,
		   text->width - 6 * COLUMNS);
}

static void add_sites(struct text *text, const struct report_context *context,
		      const struct shape_rows *sites)
{
	static const char *const titles[] = { "half", "90 %", "99 %", "all" };

	text_heading(text, "By function", "of those freed, how long so many lived at most");
	text_right(text, TEXT_DIM, "blocks", COLUMNS);
	text_right(text, TEXT_DIM, "never freed", COLUMNS);
	for (size_t i = 0; i < array_size(titles); i++)
		text_right(text, TEXT_DIM, titles[i], COLUMNS - 2);
	text_add(text, TEXT_DIM, "  function");
	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < sites->count; i++)
		add_site(text, context, &((const struct lifetime_site *)sites->items)[i]);
}

static struct err *lifetimes_text(const struct report_context *context, const void *answer,
				  FILE *out)
{
	const struct lifetimes_answer *lifetimes = answer;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);

	text_head(&text, context->model);
	str_add_char(&text.out, '\n');
	if (model_process(context->model)->flags & TAPE_FLAG_AVERAGES) {
		str_add(&text.out, "How long blocks lived is not known: they stand for sums.\n");
	} else {
		add_buckets(&text, lifetimes);
		add_percentiles(&text, &lifetimes->lived);
		if (lifetimes->sites.count > 0)
			add_sites(&text, context, &lifetimes->sites);
	}
	quality_text(&text, context);
	return text_write(&text, out);
}

static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = SITES_SHOWN;
}

const struct report report_lifetimes = {
	.question = &question_lifetimes,
	.text = lifetimes_text,
	.for_text = for_text,
};
