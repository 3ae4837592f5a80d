#include "questions/annotate.h"

#include "answer/line_columns.h"
#include "questions/questions.h"
#include "report/quality.h"
#include "report/suppressed.h"
#include "report/text.h"

enum {
	COLUMNS = 11, /* of a number */
	LINE_COLUMNS = 6,
	CONTEXT_LINES = 2
};

struct page {
	const struct report_context *context;
	struct text *text;
	const struct line_columns *chosen;
	const struct annotation *annotation;
	const struct source *source;
	uint64_t shown; /* the last line; 0: none yet */
};

static void add_value(struct text *text, const struct line_column *column, const struct line *line)
{
	const uint64_t value = line ? line_column_value(line, column) : 0;
	const bool is_bytes = metric_is_bytes(column->metric);
	char words[STR_SHORT_BYTES];

	if (value == 0)
		text_right(text, TEXT_DIM, line ? "." : "", COLUMNS);
	else
		text_right(text, is_bytes ? TEXT_VALUE : TEXT_PLAIN,
			   is_bytes ? str_iec(words, value) : str_grouped(words, value), COLUMNS);
}

/* line is NULL for one without numbers. */
static void add_line(struct page *page, uint64_t number, const struct line *line)
{
	const size_t taken = page->chosen->count * COLUMNS + LINE_COLUMNS + 3;
	struct text *text = page->text;
	CLEAN(str_deinit) struct str shown = { 0 };
	char words[STR_SHORT_BYTES];

	for (size_t i = 0; i < page->chosen->count; i++)
		add_value(text, page->chosen->items[i], line);
	text_right(text, TEXT_DIM,
		   str_format(words, sizeof(words), "%llu", (unsigned long long)number),
		   LINE_COLUMNS);
	str_add(&text->out, "  ");
	if (number <= page->source->count) {
		str_add_cut(&shown, page->source->lines[number - 1],
			    text->width > taken + 20 ? text->width - taken : 20);
		text_add(text, line ? TEXT_PLAIN : TEXT_DIM, str_text(&shown));
	} else if (line) {
		text_function(text, TEXT_PLAIN, names_get(page->context->names, line->name)->brief,
			      60);
	}
	str_add_char(&text->out, '\n');
	page->shown = number;
}

static void add_gap(struct page *page, uint64_t next)
{
	if (next <= page->shown + 1 || (page->shown == 0 && next == 1))
		return;
	str_add_repeated(&page->text->out, ' ', page->chosen->count * COLUMNS);
	text_right(page->text, TEXT_DIM, "···", LINE_COLUMNS);
	str_add_char(&page->text->out, '\n');
}

/* Source lines without numbers, up to but excluding `end`. */
static void add_context(struct page *page, uint64_t begin, uint64_t end)
{
	begin = u64_max(begin, page->shown + 1);
	if (page->source->count > 0 && begin < end && begin <= page->source->count)
		add_gap(page, begin);
	for (uint64_t i = begin; i < end && i <= page->source->count; i++)
		add_line(page, i, NULL);
}

static void add_lines(struct page *page)
{
	const struct annotated_line *lines = page->annotation->lines.items;
	const bool is_whole = page->context->settings->with.whole_file;

	for (size_t i = 0; i < page->annotation->lines.count; i++) {
		const struct line *line = &lines[i].line;
		const uint64_t before = line->line > CONTEXT_LINES ? line->line - CONTEXT_LINES : 1;

		if (page->shown > 0 && !is_whole)
			add_context(page, page->shown + 1,
				    u64_min(page->shown + 1 + CONTEXT_LINES, line->line));
		add_context(page, is_whole ? 1 : before, line->line);
		add_gap(page, line->line);
		add_line(page, line->line, line);
	}
	add_context(page, page->shown + 1,
		    is_whole ? page->source->count + 1 : page->shown + 1 + CONTEXT_LINES);
}

static void add_titles(struct page *page)
{
	for (size_t i = 0; i < page->chosen->count; i++)
		text_right(page->text, TEXT_DIM, page->chosen->items[i]->name, COLUMNS);
	text_right(page->text, TEXT_DIM, "line", LINE_COLUMNS);
	str_add_char(&page->text->out, '\n');
}

static void add_head(struct page *page)
{
	struct text *text = page->text;

	text_heading(text, page->annotation->file,
		     page->source->path && strcmp(page->source->path, page->annotation->file) != 0
			     ? page->source->path
			     : NULL);
	if (!page->source->path) {
		text_style(text, TEXT_BAD);
		str_add(&text->out, "The source is not there: ");
		str_add_terminal(&text->out, page->annotation->tried);
		str_add(&text->out, ". --path-map FROM=TO says where it is now.\n");
		text_style(text, TEXT_PLAIN);
	} else if (page->source->is_newer) {
		text_add(text, TEXT_BAD,
			 "The source is newer than the recording: lines may have "
			 "moved.");
		str_add_char(&text->out, '\n');
	}
}

static struct err *annotate_text(const struct report_context *context, const void *answer,
				 FILE *out)
{
	const struct annotation *annotation = answer;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	struct line_columns chosen;
	struct page page = { context, &text, &chosen, annotation, &annotation->source, 0 };
	struct err *err = line_columns_choose(context->settings->with.columns, &chosen);

	if (err)
		return err;
	text_head(&text, context->model);
	add_head(&page);
	add_titles(&page);
	add_lines(&page);
	suppressed_line(&text, context);
	quality_text(&text, context);
	return text_write(&text, out);
}

const struct report report_annotate = {
	.question = &question_annotate,
	.text = annotate_text,
};
