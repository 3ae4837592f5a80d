#include "questions/leaks.h"

#include <string.h>

#include "questions/questions.h"
#include "report/quality.h"
#include "report/rank.h"

enum { SHOWN = 20, BYTES_COLUMNS = 12, BLOCKS_COLUMNS = 11, RATE_COLUMNS = 14 };

/* On two lines where one is too short. */
static void add_evidence(struct text *text, const char *evidence, size_t indent)
{
	const char *half = strstr(evidence, "; ");

	str_add_repeated(&text->out, ' ', indent);
	if (half && strlen(evidence) + indent > text->width) {
		str_add_bytes(&text->out, evidence, (size_t)(half + 1 - evidence));
		str_add_char(&text->out, '\n');
		str_add_repeated(&text->out, ' ', indent);
		evidence = half + 2;
	}
	str_add(&text->out, evidence);
	str_add_char(&text->out, '\n');
}

static void add_row(struct text *text, const struct report_context *context,
		    const struct growth_row *row)
{
	const size_t indent = BYTES_COLUMNS + BLOCKS_COLUMNS + 2;
	char words[STR_SHORT_BYTES];

	text_right(text, TEXT_VALUE, str_iec(words, row->shown_bytes), BYTES_COLUMNS);
	text_right(text, TEXT_PLAIN, str_grouped(words, row->leaked_blocks), BLOCKS_COLUMNS);
	str_add(&text->out, "  ");
	rank_frame(text, context, rank_site_frame(context, row->stack), 1, TEXT_BOLD,
		   text->width - indent);
	rank_callers(text, context, row->stack, indent);
	add_evidence(text, row->evidence, indent);
}

static void add_pattern(struct text *text, const struct report_context *context,
			const struct growth_answer *answer, enum growth_pattern pattern)
{
	const struct growth_row *rows = answer->sites.items;
	bool is_begun = false;

	for (size_t i = 0; i < answer->sites.count; i++) {
		if (rows[i].kind != pattern)
			continue;
		if (!is_begun)
			text_heading(text, growth_pattern_titles[pattern], "bytes, blocks left");
		is_begun = true;
		add_row(text, context, &rows[i]);
	}
}

static const char *class_words(const char *class)
{
	size_t kind = 0;

	while (loss_keys[kind] && strcmp(loss_keys[kind], class) != 0)
		kind++;
	return loss_keys[kind] ? loss_words[kind] : class;
}

static void add_scans(struct text *text, const struct report_context *context,
		      const struct scans_compared *scans)
{
	const size_t indent = RATE_COLUMNS + 2;
	const struct scan_change *records = scans->records.items;
	CLEAN(str_deinit) struct str right = { 0 };

	str_printf(&right, "scan %llu against scan %llu", (unsigned long long)scans->after,
		   (unsigned long long)scans->before);
	text_heading(text, "Between two leak scans", str_text(&right));
	for (unsigned kind = 0; loss_keys[kind] && kind <= LOSS_REACHABLE; kind++) {
		const struct model_sum *before = &scans->classes_before.sums[kind];
		const struct model_sum *after = &scans->classes.sums[kind];

		str_printf(&text->out, "  %-16s  ", loss_words[kind]);
		str_add_iec(&text->out, before->bytes);
		str_add(&text->out, " -> ");
		str_add_iec(&text->out, after->bytes);
		str_add(&text->out, "\n");
	}
	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < scans->records.count; i++) {
		CLEAN(str_deinit) struct str more = { 0 };

		str_add_iec_signed(&more, records[i].bytes_more);
		text_right(text, records[i].bytes_more > 0 ? TEXT_BAD : TEXT_GOOD, str_text(&more),
			   RATE_COLUMNS);
		str_add(&text->out, "  ");
		rank_frame(text, context, rank_site_frame(context, records[i].stack), 1, TEXT_BOLD,
			   text->width - indent);
		str_add_repeated(&text->out, ' ', indent);
		text_add(text, TEXT_DIM, class_words(records[i].class));
		str_add_char(&text->out, '\n');
	}
}

static struct err *growth_text(const struct report_context *context, const void *value, FILE *out)
{
	const struct growth_answer *answer = value;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);

	text_head(&text, context->model);
	if (answer->sites.count == 0)
		str_add(&text.out, "\nNothing was leaked, and nothing grew to the end\n");
	for (unsigned pattern = 0; pattern < PATTERNS; pattern++)
		add_pattern(&text, context, answer, (enum growth_pattern)pattern);
	if (answer->sites.count < answer->site_count) {
		str_add(&text.out, "… and ");
		str_add_counted(&text.out, answer->site_count - answer->sites.count,
				"more function");
		str_add(&text.out, "; --top N shows N\n");
	}
	if (answer->scans)
		add_scans(&text, context, answer->scans);
	quality_text(&text, context);
	return text_write(&text, out);
}

static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = SHOWN;
}

static bool fails(const struct report_settings *settings, const void *value)
{
	const struct growth_answer *answer = value;

	return settings->fail_on >> LOSS_GROWING & 1 && answer->patterns[PATTERN_GROWING].sites > 0;
}

const struct report report_growth = {
	.question = &question_growth,
	.text = growth_text,
	.for_text = for_text,
	.fail_kinds = 1 << LOSS_GROWING,
	.fails = fails,
};
