/*
 * findings: what is wrong, one finding a cause, the worst first: amount of memory, evidence, advice,
 * and the command that shows more.
 */
#include "questions/findings.h"
#include "questions/questions.h"

#include "report/quality.h"
#include "report/rank.h"

enum { INDENT = 14, SHOWN = 12, FRAMES_SHOWN = 5 };

/* Wraps words to the width, indented; a word that is too long gets its own line. */
static void add_wrapped(struct text *text, enum text_style style, const char *words)
{
	CLEAN(str_deinit) struct str line = { 0 };
	CLEAN(str_deinit) struct str word = { 0 };

	for (;;) {
		const size_t len = strcspn(words, " ");

		str_clear(&word);
		str_add_bytes(&word, words, len);
		if (line.len > 0 &&
		    INDENT + str_width(str_text(&line)) + 1 + str_width(str_text(&word)) >
			    text->width) {
			str_add_repeated(&text->out, ' ', INDENT);
			text_add(text, style, str_text(&line));
			str_add_char(&text->out, '\n');
			str_clear(&line);
		}
		str_printf(&line, "%s%s", line.len > 0 ? " " : "", str_text(&word));
		if (words[len] == '\0')
			break;
		words += len + 1;
	}
	str_add_repeated(&text->out, ' ', INDENT);
	text_add(text, style, str_text(&line));
	str_add_char(&text->out, '\n');
	text->out.failed |= line.failed | word.failed;
}

static void add_command(struct text *text, const struct report_context *context,
			const struct finding_answer *finding)
{
	const char *tape = context->settings->tape_path;
	CLEAN(str_deinit) struct str line = { 0 };

	str_add(&line, "memtape report ");
	str_add_shell(&line, tape ? tape : "TAPE");
	str_printf(&line, " %s", finding->command);
	str_add_repeated(&text->out, ' ', INDENT);
	text_add(text, TEXT_DIM, str_text(&line));
	str_add_char(&text->out, '\n');
}

/* The innermost frames, one per line. */
static void add_frames(struct text *text, const struct report_context *context, uint32_t stack)
{
	struct walk walk = walk_begin(context->model, context->names, stack, context->mode);
	const struct name_frame *frame;
	uint64_t rest = 0;

	for (size_t i = 0; i < FRAMES_SHOWN && (frame = walk_next(&walk)); i++) {
		str_add_repeated(&text->out, ' ', INDENT + 2);
		rank_frame(text, context, frame, 1, i == 0 ? TEXT_BOLD : TEXT_PLAIN,
			   text->width - INDENT - 2);
	}
	while (walk_next(&walk))
		rest++;
	if (rest == 0)
		return;
	str_add_repeated(&text->out, ' ', INDENT + 2);
	text_style(text, TEXT_DIM);
	str_add(&text->out, "… ");
	str_add_counted(&text->out, rest, "more frame");
	text_style(text, TEXT_PLAIN);
	str_add_char(&text->out, '\n');
}

static void add_role(struct text *text, const struct report_context *context, const char *words,
		     uint32_t stack)
{
	if (stack == CAPTURE_STACK_NONE)
		return;
	str_add_repeated(&text->out, ' ', INDENT);
	text_add(text, TEXT_DIM, words);
	str_add_char(&text->out, '\n');
	add_frames(text, context, stack);
}

static void add_where(struct text *text, const struct report_context *context,
		      const struct finding_answer *finding)
{
	const bool has_stack = finding->stack != CAPTURE_STACK_NONE;

	if (finding->allocated_stack != CAPTURE_STACK_NONE ||
	    finding->freed_before_stack != CAPTURE_STACK_NONE) {
		add_role(text, context, "freed by", finding->stack);
		add_role(text, context, "allocated by", finding->allocated_stack);
		add_role(text, context, "freed before by", finding->freed_before_stack);
	} else if (has_stack) {
		str_add_repeated(&text->out, ' ', INDENT);
		rank_frame(text, context, rank_site_frame(context, finding->stack), 1, TEXT_BOLD,
			   text->width - INDENT);
		rank_callers(text, context, finding->stack, INDENT);
	}
}

/* Another kind at the same line. */
static void add_also(struct text *text, const struct finding_answer *also)
{
	CLEAN(str_deinit) struct str words = { 0 };

	str_add(&words, "Also ");
	str_add_iec(&words, also->bytes);
	str_printf(&words, ": %s", also->title);
	add_wrapped(text, TEXT_BOLD, str_text(&words));
	add_wrapped(text, TEXT_PLAIN, also->evidence);
	add_wrapped(text, TEXT_GOOD, also->advice);
	text->out.failed |= words.failed;
}

static void add_alsos(struct text *text, const struct finding_answer *finding)
{
	const struct finding_answer *also = finding->also.items;
	CLEAN(str_deinit) struct str stake = { 0 };

	for (size_t i = 0; i < finding->also.count; i++)
		add_also(text, &also[i]);
	if (finding->stake_bytes == finding->bytes)
		return;
	str_add_iec(&stake, finding->stake_bytes);
	str_add(&stake, " at stake in all: these are the same blocks");
	add_wrapped(text, TEXT_PLAIN, str_text(&stake));
	text->out.failed |= stake.failed;
}

static void add_finding(struct text *text, const struct report_context *context,
			const struct finding_answer *finding)
{
	char number[STR_SHORT_BYTES];

	str_add_char(&text->out, '\n');
	text_right(text, TEXT_VALUE, str_iec(number, finding->bytes), INDENT - 2);
	str_add(&text->out, "  ");
	text_add(text, TEXT_BOLD, finding->title);
	str_add_char(&text->out, '\n');
	add_where(text, context, finding);
	add_wrapped(text, TEXT_PLAIN, finding->evidence);
	add_wrapped(text, TEXT_GOOD, finding->advice);
	add_alsos(text, finding);
	add_command(text, context, finding);
}

static void add_rest(struct text *text, size_t rest)
{
	if (rest == 0)
		return;
	str_add_char(&text->out, '\n');
	text_style(text, TEXT_DIM);
	str_add(&text->out, "… ");
	str_add_counted(&text->out, rest, "more finding");
	str_add(&text->out, "; --top says how many are shown");
	text_style(text, TEXT_PLAIN);
	str_add_char(&text->out, '\n');
}

static void add_missing(struct text *text, const struct shape_texts *missing)
{
	if (missing->count == 0)
		return;
	text_heading(text, "Not looked for", NULL);
	for (size_t i = 0; i < missing->count; i++)
		add_wrapped(text, TEXT_DIM, missing->items[i]);
}

/* What is no finding is worth a look where nothing is one. */
static void add_nothing(struct text *text, const struct report_context *context,
			const struct model_sum *leaked)
{
	const char *tape = context->settings->tape_path;

	str_add_char(&text->out, '\n');
	text_add(text, TEXT_GOOD, "Nothing was found that stands out.");
	str_add_char(&text->out, '\n');
	if (leaked->count == 0)
		return;
	str_add_iec(&text->out, leaked->bytes);
	str_add(&text->out, " in ");
	str_add_counted(&text->out, leaked->count, "block");
	str_add(&text->out, text_goes_on(context->model) ? " not freed yet: memtape report "
							 : " never freed: memtape report ");
	str_add_shell(&text->out, tape ? tape : "TAPE");
	str_add(&text->out, " leaks\n");
}

static struct err *findings_text(const struct report_context *context, const void *answer,
				 FILE *out)
{
	const struct findings_answer *found = answer;
	const struct finding_answer *items = found->findings.items;
	const size_t top = context->settings->with.top ? found->findings.count : SHOWN;
	const size_t shown = u64_min(top, found->findings.count);
	CLEAN(text_deinit) struct text text = text_begin(context->settings);

	text_head(&text, context->model);
	if (found->total == 0)
		add_nothing(&text, context, &found->leaked);
	for (size_t i = 0; i < shown; i++)
		add_finding(&text, context, &items[i]);
	add_rest(&text, found->total - shown);
	add_missing(&text, &found->missing);
	quality_text(&text, context);
	return text_write(&text, out);
}

const struct report report_findings = {
	.question = &question_findings,
	.text = findings_text,
};
