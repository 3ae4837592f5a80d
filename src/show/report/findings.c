/*
 * findings: what is wrong, the worst first: how much is at stake, the evidence, what to do, and the
 * command that shows it.
 */
#include "findings/findings.h"

#include "report/quality.h"
#include "report/rank.h"

enum { INDENT = 14, SHOWN = 12, FRAMES_SHOWN = 5 };

struct answer {
	const struct report_context *context;
	struct findings findings;
};

/* --- people -------------------------------------------------------------------------------- */

/* Lines of words, as wide as there is room, each indented; a word that is too long stands alone. */
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

/* What follows "memtape report TAPE". */
static void add_command(struct str *out, const struct finding_link *link)
{
	const struct {
		const char *option;
		const char *value;
	} options[] = {
		{ "filter", link->filter },
		{ "at", strcmp(link->report, "fragmentation") == 0 ? link->at : NULL },
		{ "from", link->from },
		{ "until", link->until },
		{ "sort", link->sort },
	};

	str_add(out, link->report);
	for (size_t i = 0; i < array_size(options); i++) {
		if (!options[i].value)
			continue;
		str_printf(out, " --%s ", options[i].option);
		text_shell_word(out, options[i].value);
	}
}

static void add_query(struct text *text, const struct report_context *context,
		      const struct finding *finding)
{
	CLEAN(str_deinit) struct str line = { 0 };

	str_add(&line, "memtape report ");
	text_shell_word(&line,
			context->settings->tape_path ? context->settings->tape_path : "TAPE");
	str_add_char(&line, ' ');
	add_command(&line, &finding->link);
	str_add_repeated(&text->out, ' ', INDENT);
	text_add(text, TEXT_DIM, str_text(&line));
	str_add_char(&text->out, '\n');
}

/* The innermost frames, each on a line of its own. */
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
	text_counted(&text->out, rest, "more frame");
	text_style(text, TEXT_PLAIN);
	str_add_char(&text->out, '\n');
}

static void add_role(struct text *text, const struct report_context *context, const char *words,
		     uint32_t stack)
{
	str_add_repeated(&text->out, ' ', INDENT);
	text_add(text, TEXT_DIM, words);
	str_add_char(&text->out, '\n');
	add_frames(text, context, stack);
}

static void add_where(struct text *text, const struct report_context *context,
		      const struct finding *finding)
{
	const struct name_frame *frame = finding_frame(finding, context->model, context->names);

	if (finding->stack_count > 0) {
		add_role(text, context, "freed by", finding->stack);
		for (size_t i = 0; i < finding->stack_count; i++)
			add_role(text, context, finding->stacks[i].words, finding->stacks[i].stack);
	} else if (frame) {
		str_add_repeated(&text->out, ' ', INDENT);
		rank_frame(text, context, frame, 1, TEXT_BOLD, text->width - INDENT);
		rank_callers(text, context, finding->stack, INDENT);
	}
}

static void add_finding(struct text *text, const struct report_context *context,
			const struct finding *finding)
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
	add_query(text, context, finding);
}

static void add_rest(struct text *text, size_t rest)
{
	if (rest == 0)
		return;
	str_add_char(&text->out, '\n');
	text_style(text, TEXT_DIM);
	str_add(&text->out, "… ");
	text_counted(&text->out, rest, "more finding");
	str_add(&text->out, "; --top says how many are shown");
	text_style(text, TEXT_PLAIN);
	str_add_char(&text->out, '\n');
}

static void add_missing(struct text *text, const struct findings *findings)
{
	if (findings->missing_count == 0)
		return;
	text_heading(text, "Not looked for", NULL);
	for (size_t i = 0; i < findings->missing_count; i++)
		add_wrapped(text, TEXT_DIM, findings->missing[i]);
}

static struct err *findings_text(const struct answer *answer, size_t shown, FILE *out)
{
	CLEAN(text_deinit) struct text text = text_begin(answer->context->settings);
	const struct findings *findings = &answer->findings;

	text_head(&text, answer->context->model);
	if (findings->count == 0) {
		str_add_char(&text.out, '\n');
		text_add(&text, TEXT_GOOD, "Nothing was found that stands out.");
		str_add_char(&text.out, '\n');
	}
	for (size_t i = 0; i < shown; i++)
		add_finding(&text, answer->context, &findings->items[i]);
	add_rest(&text, findings->count - shown);
	add_missing(&text, findings);
	quality_text(&text, answer->context);
	return text_write(&text, out);
}

/* --- programs ------------------------------------------------------------------------------ */

static void emit_place(struct emit *emit, const struct report_context *context,
		       const struct finding *finding)
{
	static const char *const keys[] = { "function", "file", "line", "module" };
	const struct name_frame *frame = finding_frame(finding, context->model, context->names);

	if (frame)
		rank_emit_place(emit, context, frame);
	for (size_t i = 0; i < array_size(keys) && !frame; i++)
		emit_null(emit, keys[i]);
}

static void emit_link(struct emit *emit, const struct finding_link *link)
{
	CLEAN(str_deinit) struct str command = { 0 };

	add_command(&command, link);
	emit_text(emit, "page", link->page);
	emit_text(emit, "report", link->report);
	emit_text(emit, "filter", link->filter);
	emit_text(emit, "metric", link->metric);
	emit_text(emit, "at", link->at);
	emit_text(emit, "from", link->from);
	emit_text(emit, "until", link->until);
	emit_text(emit, "sort", link->sort);
	emit_text(emit, "command", str_text(&command));
}

static void emit_role(struct emit *emit, const struct report_context *context,
		      const struct finding *finding, const char *role, const char *key)
{
	for (size_t i = 0; i < finding->stack_count; i++) {
		if (strcmp(finding->stacks[i].role, role) == 0) {
			rank_emit_stack(emit, key, context, finding->stacks[i].stack);
			return;
		}
	}
	emit_null(emit, key);
}

static void emit_finding(struct emit *emit, const struct report_context *context,
			 const struct finding *finding)
{
	emit_row(emit);
	emit_text(emit, "type", finding->type);
	emit_text(emit, "title", finding->title);
	emit_u64(emit, "bytes", finding->bytes, EMIT_BYTES);
	if (finding->count == FIELD_NONE)
		emit_null(emit, "count");
	else
		emit_u64(emit, "count", finding->count, EMIT_COUNT);
	emit_text(emit, "evidence", finding->evidence);
	emit_text(emit, "advice", finding->advice);
	emit_place(emit, context, finding);
	emit_link(emit, &finding->link);
	if (finding->stack == FINDING_NO_STACK)
		emit_null(emit, "stack");
	else
		rank_emit_stack(emit, "stack", context, finding->stack);
	emit_role(emit, context, finding, "allocated", "allocated_stack");
	emit_role(emit, context, finding, "freed_before", "freed_before_stack");
	emit_bool(emit, "possible", finding->is_possible);
	emit_end(emit);
}

static struct err *findings_emit(const struct answer *answer, size_t shown, FILE *out)
{
	static const struct emit_column columns[] = {
		{ .key = "type" },
		{ .key = "title" },
		{ .key = "bytes" },
		{ .key = "count" },
		{ .key = "evidence" },
		{ .key = "advice" },
		{ .key = "function" },
		{ .key = "file" },
		{ .key = "line" },
		{ .key = "module" },
		{ .key = "page" },
		{ .key = "report" },
		{ .key = "filter" },
		{ .key = "metric" },
		{ .key = "at" },
		{ .key = "from" },
		{ .key = "until" },
		{ .key = "sort" },
		{ .key = "command" },
		{ .key = "stack" },
		{ .key = "allocated_stack" },
		{ .key = "freed_before_stack" },
		{ .key = "possible" },
	};
	const struct emit_settings settings = { .format = answer->context->settings->format };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);
	const bool is_json = settings.format == EMIT_JSON;
	const struct findings *findings = &answer->findings;

	if (!emit)
		return err_nomem();
	if (is_json)
		emit_object(emit, NULL);
	emit_table(emit, is_json ? "findings" : NULL, columns, array_size(columns));
	for (size_t i = 0; i < shown; i++)
		emit_finding(emit, answer->context, &findings->items[i]);
	emit_end(emit);
	if (is_json) {
		emit_list(emit, "missing");
		for (size_t i = 0; i < findings->missing_count; i++)
			emit_text(emit, NULL, findings->missing[i]);
		emit_end(emit);
		quality_emit(emit, answer->context);
		emit_end(emit);
	}
	return emit_finish(emit);
}

/* --- */

static struct err *run(const struct report_context *context, FILE *out)
{
	const struct report_settings *settings = context->settings;
	const bool is_text = settings->format == EMIT_TEXT;
	const uint64_t top = settings->top ? settings->top : is_text ? SHOWN : FINDINGS_MAX;
	struct answer answer = { .context = context };
	struct err *err = findings_find(context->model, context->names, NULL, context->arena,
					&answer.findings);
	size_t shown;

	if (err)
		return err;
	shown = u64_min(top, answer.findings.count);
	return is_text ? findings_text(&answer, shown, out) : findings_emit(&answer, shown, out);
}

const struct report report_findings = {
	.name = "findings",
	.summary = "what is wrong, the worst first, with evidence and what to do",
	.depth = MODEL_FULL,
	.instead = "the command of a finding has a filter of its own",
	.run = run,
};
