#include "questions/leaks.h"
#include "questions/questions.h"
#include "report/quality.h"
#include "report/rank.h"

enum { CALLERS_SHOWN = 4, SITES_SHOWN = 10, BYTES_COLUMNS = 12, BLOCKS_COLUMNS = 11 };

static size_t indent(void)
{
	return 2 * BYTES_COLUMNS + BLOCKS_COLUMNS + 2;
}

static void add_columns(struct text *text)
{
	text_right(text, TEXT_DIM, "retained", BYTES_COLUMNS);
	text_right(text, TEXT_DIM, "own bytes", BYTES_COLUMNS);
	text_right(text, TEXT_DIM, "blocks", BLOCKS_COLUMNS);
	text_add(text, TEXT_DIM, "  function");
	str_add_char(&text->out, '\n');
}

/* A thread's stack, with a function that has a frame on it. */
static bool is_frame(const struct held_node *step)
{
	return !step->class && step->place.function;
}

/* "g_sessions" "stack of shop (100), in work" "make" */
static void add_name(struct text *text, const struct held_node *step)
{
	CLEAN(str_deinit) struct str words = { 0 };

	if (step->place.function && !is_frame(step))
		str_add(&words, step->place.function);
	else if (step->name)
		str_add(&words, step->name);
	else
		str_add(&words, step->kind);
	if (step->tid != SHAPE_NONE)
		str_printf(&words, " of %s%s%llu%s", step->thread ? step->thread : "thread",
			   step->thread ? " (" : " ", (unsigned long long)step->tid,
			   step->thread ? ")" : "");
	if (is_frame(step))
		str_printf(&words, ", in %s", step->place.function);
	text_add(text, step->class ? TEXT_PLAIN : TEXT_BOLD, str_text(&words));
}

/* "  struct cache *  cache.c:12", of a variable or of a call. */
static void add_source(struct str *out, const struct held_node *step)
{
	if (step->type)
		str_printf(out, "  %s", step->type);
	if (step->place.file)
		str_printf(out, "  %s", names_short_path(step->place.file));
	if (step->place.file && step->place.line != SHAPE_NONE)
		str_printf(out, ":%llu", (unsigned long long)step->place.line);
}

/* "← load ← main": who called the function on whose stack it is. */
static void add_callers(struct text *text, const struct held_node *step)
{
	const struct frame *callers = step->callers.items;
	size_t shown = 0;

	for (size_t i = 0; i < step->callers.count && shown < CALLERS_SHOWN; i++) {
		if (callers[i].folded)
			continue;
		if (shown == 0)
			str_add_repeated(&text->out, ' ', indent() + 2);
		text_style(text, TEXT_DIM);
		str_printf(&text->out, "%s← %s", shown ? " " : "", callers[i].function);
		shown++;
	}
	if (shown == 0)
		return;
	text_style(text, TEXT_PLAIN);
	str_add_char(&text->out, '\n');
}

static void add_step(struct text *text, const struct held_node *step, bool is_first)
{
	struct str *out = &text->out;

	str_add_repeated(out, ' ', indent() + (is_first ? 0 : 2));
	str_add(out, is_first ? "" : "→ ");
	add_name(text, step);
	text_style(text, TEXT_DIM);
	if (step->class)
		str_printf(out, "  block 0x%llx of ", (unsigned long long)step->address);
	else if (step->type || is_frame(step))
		add_source(out, step);
	else
		str_printf(out, "  %s 0x%llx", step->kind, (unsigned long long)step->address);
	if (step->class)
		str_add_iec(out, step->bytes);
	if (step->offset != SHAPE_NONE)
		str_printf(out, ", at +0x%llx%s", (unsigned long long)step->offset,
			   step->interior ? " to the middle of" : "");
	text_style(text, TEXT_PLAIN);
	str_add_char(out, '\n');
	add_callers(text, step);
}

static void add_chain(struct text *text, const struct held_site *site)
{
	const struct held_node *steps = site->chain.items;

	for (size_t i = 0; i < site->chain.count; i++) {
		add_step(text, &steps[i], i == 0);
		if (i > 0 || site->omitted_steps == 0)
			continue;
		str_add_repeated(&text->out, ' ', indent() + 2);
		text_style(text, TEXT_DIM);
		str_add(&text->out, "… ");
		str_add_counted(&text->out, site->omitted_steps, "more block");
		text_style(text, TEXT_PLAIN);
		str_add_char(&text->out, '\n');
	}
}

static struct err *holders_text(const struct report_context *context, const void *value, FILE *out)
{
	const struct holders_answer *answer = value;
	const struct held_site *sites = answer->sites.items;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	char words[STR_SHORT_BYTES];

	text_head(&text, context->model);
	text_heading(&text, "What keeps memory alive", "by call site");
	add_columns(&text);
	for (size_t i = 0; i < answer->sites.count; i++) {
		text_right(&text, TEXT_BOLD, str_iec(words, sites[i].retained_bytes),
			   BYTES_COLUMNS);
		text_right(&text, TEXT_VALUE, str_iec(words, sites[i].bytes), BYTES_COLUMNS);
		text_right(&text, TEXT_PLAIN, str_grouped(words, sites[i].blocks), BLOCKS_COLUMNS);
		str_add(&text.out, "  ");
		rank_frame(&text, context, rank_site_frame(context, sites[i].stack), 1, TEXT_BOLD,
			   text.width - indent());
		rank_callers(&text, context, sites[i].stack, indent());
		add_chain(&text, &sites[i]);
		if (i + 1 < answer->sites.count)
			str_add_char(&text.out, '\n');
	}
	if (answer->sites.count < answer->site_count) {
		str_add(&text.out, "\n… and ");
		str_add_counted(&text.out, answer->site_count - answer->sites.count,
				"more call site");
		str_add(&text.out, "; --top N shows N\n");
	}
	quality_text(&text, context);
	return text_write(&text, out);
}

static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = SITES_SHOWN;
}

const struct report report_holders = {
	.question = &question_holders,
	.text = holders_text,
	.for_text = for_text,
};
