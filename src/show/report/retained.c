#include "questions/leaks.h"
#include "questions/questions.h"
#include "report/quality.h"
#include "report/rank.h"

enum { SHOWN = 10, BYTES_COLUMNS = 12, BLOCKS_COLUMNS = 11 };

static void add_sum(struct str *out, uint64_t bytes, uint64_t blocks)
{
	str_add_iec(out, bytes);
	str_add(out, " in ");
	str_add_counted(out, blocks, "block");
}

/* "g_sessions keeps 412 MiB in 12 blocks alive" */
static void add_keeper(struct text *text, const struct keeper *keeper)
{
	CLEAN(str_deinit) struct str name = { 0 };
	CLEAN(str_deinit) struct str sum = { 0 };
	struct str *out = &text->out;

	str_add(&name, keeper->name ? keeper->name : keeper->kind);
	if (keeper->tid != SHAPE_NONE)
		str_printf(&name, " of %s (%llu)", keeper->thread ? keeper->thread : "a thread",
			   (unsigned long long)keeper->tid);
	str_add_char(out, '\n');
	text_add(text, TEXT_BOLD, str_text(&name));
	str_add(out, " keeps ");
	add_sum(&sum, keeper->retained_bytes, keeper->blocks);
	text_add(text, TEXT_VALUE, str_text(&sum));
	str_add(out, " alive");
	text_style(text, TEXT_DIM);
	if (keeper->type && keeper->file)
		str_printf(out, "   %s  %s:%llu", keeper->type, names_short_path(keeper->file),
			   (unsigned long long)(keeper->line == SHAPE_NONE ? 0 : keeper->line));
	else
		str_printf(out, "   %s 0x%llx", keeper->kind, (unsigned long long)keeper->begin);
	text_style(text, TEXT_PLAIN);
	str_add_char(out, '\n');
}

static void add_sites(struct text *text, const struct keeper *keeper)
{
	const struct kept_site *sites = keeper->sites.items;
	char words[STR_SHORT_BYTES];

	for (size_t i = 0; i < keeper->sites.count; i++) {
		text_right(text, TEXT_VALUE, str_iec(words, sites[i].bytes), BYTES_COLUMNS);
		text_right(text, TEXT_PLAIN, str_grouped(words, sites[i].blocks), BLOCKS_COLUMNS);
		str_add(&text->out, "  ");
		text_function(text, TEXT_PLAIN, sites[i].place.function,
			      text->width - BYTES_COLUMNS - BLOCKS_COLUMNS - 2);
		str_add_char(&text->out, '\n');
	}
}

static void add_blocks(struct text *text, const struct report_context *context,
		       const struct retained_answer *answer)
{
	const struct kept_block *blocks = answer->blocks.items;
	char words[STR_SHORT_BYTES];

	text_heading(text, "Blocks that keep most alive", NULL);
	text_right(text, TEXT_DIM, "retained", BYTES_COLUMNS);
	text_right(text, TEXT_DIM, "bytes", BYTES_COLUMNS);
	text_add(text, TEXT_DIM, "  function");
	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < answer->blocks.count; i++) {
		text_right(text, TEXT_BOLD, str_iec(words, blocks[i].retained_bytes),
			   BYTES_COLUMNS);
		text_right(text, TEXT_VALUE, str_iec(words, blocks[i].bytes), BYTES_COLUMNS);
		str_add(&text->out, "  ");
		rank_frame(text, context, rank_site_frame(context, blocks[i].stack), 1, TEXT_BOLD,
			   text->width - 2 * BYTES_COLUMNS - 2);
		rank_callers(text, context, blocks[i].stack, 2 * BYTES_COLUMNS + 2);
	}
}

static void add_rest(struct str *out, const char *words, const struct model_sum *sum)
{
	if (sum->count == 0)
		return;
	str_printf(out, "  %s: ", words);
	add_sum(out, sum->bytes, sum->count);
	str_add_char(out, '\n');
}

static struct err *retained_text(const struct report_context *context, const void *value, FILE *out)
{
	const struct retained_answer *answer = value;
	const struct keeper *keepers = answer->holders.items;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);

	text_head(&text, context->model);
	for (size_t i = 0; i < answer->holders.count; i++) {
		add_keeper(&text, &keepers[i]);
		add_sites(&text, &keepers[i]);
	}
	if (answer->holders.count < answer->holder_count) {
		str_add(&text.out, "\n… and ");
		str_add_counted(&text.out, answer->holder_count - answer->holders.count,
				"more holder");
		str_add(&text.out, "; --top N shows N\n");
	}
	str_add_char(&text.out, '\n');
	add_rest(&text.out, "held by several", &answer->shared);
	add_rest(&text.out, "lost, so held by nothing", &answer->lost);
	add_rest(&text.out, "not scanned", &answer->not_scanned);
	if (answer->blocks.count > 0)
		add_blocks(&text, context, answer);
	quality_text(&text, context);
	return text_write(&text, out);
}

static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = SHOWN;
}

const struct report report_retained = {
	.question = &question_retained,
	.text = retained_text,
	.for_text = for_text,
};
