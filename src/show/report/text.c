#include "report/text.h"

#include <assert.h>

#include "base/number.h"
#include "base/str.h"

enum { WIDTH_DEFAULT = 100, WIDTH_MAX = 132, LABEL_COLUMNS = 12 };

static const char *const style_codes[] = {
	[TEXT_PLAIN] = "\033[0m",  [TEXT_BOLD] = "\033[1m", [TEXT_DIM] = "\033[2m",
	[TEXT_GOOD] = "\033[32m",  [TEXT_BAD] = "\033[33m", [TEXT_VALUE] = "\033[36m",
	[TEXT_ALARM] = "\033[31m",
};

struct text text_begin(const struct report_settings *settings)
{
	unsigned width = settings->width ? settings->width : WIDTH_DEFAULT;

	assert(width > 0);
	return (struct text) {
		.colour = settings->colour,
		.width = width < WIDTH_MAX ? width : WIDTH_MAX,
		.fold = settings->width,
	};
}

struct err *text_write(struct text *text, FILE *out)
{
	CLEAN(str_deinit) struct str folded = { 0 };
	const struct str *shown = &text->out;

	if (text->fold > 0) {
		str_add_wrapped(&folded, str_text(&text->out), text->fold);
		shown = &folded;
	}
	if (text->out.failed || folded.failed)
		return err_nomem();
	if (shown->len > 0 && fwrite(shown->ptr, 1, shown->len, out) != shown->len)
		return err_errno("write");
	str_clear(&text->out);
	if (fflush(out) != 0)
		return err_errno("write");
	return NULL;
}

void text_deinit(struct text *text)
{
	str_deinit(&text->out);
}

void text_style(struct text *text, enum text_style style)
{
	assert((unsigned)style < array_size(style_codes));
	if (text->colour)
		str_add(&text->out, style_codes[style]);
}

void text_add(struct text *text, enum text_style style, const char *words)
{
	assert((unsigned)style < array_size(style_codes));
	if (style != TEXT_PLAIN)
		text_style(text, style);
	str_add_terminal(&text->out, words);
	if (style != TEXT_PLAIN)
		text_style(text, TEXT_PLAIN);
}

void text_right(struct text *text, enum text_style style, const char *words, size_t columns)
{
	const size_t width = str_width(words);

	assert(words);
	assert((unsigned)style < array_size(style_codes));
	if (width < columns)
		str_add_repeated(&text->out, ' ', columns - width);
	text_add(text, style, words);
}

void text_heading(struct text *text, const char *words, const char *right)
{
	str_add_char(&text->out, '\n');
	text_add(text, TEXT_BOLD, words);
	if (right) {
		str_add(&text->out, "   ");
		text_add(text, TEXT_DIM, right);
	}
	str_add_char(&text->out, '\n');
}

void text_label(struct text *text, const char *label)
{
	const size_t width = str_width(label);

	assert(label);
	str_add(&text->out, "  ");
	text_add(text, TEXT_DIM, label);
	str_add_repeated(&text->out, ' ', width < LABEL_COLUMNS ? LABEL_COLUMNS - width : 1);
}

void text_function(struct text *text, enum text_style style, const char *function, size_t columns)
{
	CLEAN(str_deinit) struct str words = { 0 };

	assert(function);
	str_add_function(&words, function, columns);
	text_add(text, style, str_text(&words));
}

void text_place(struct str *out, const char *file, uint32_t line, const struct name *name,
		size_t columns)
{
	CLEAN(str_deinit) struct str number = { 0 };

	if (columns == 0)
		columns = SIZE_MAX;
	if (line > 0)
		str_printf(&number, ":%u", line);
	if (file) {
		str_add_cut_middle(out, names_short_path(file),
				   columns > number.len ? columns - number.len : 1);
		str_add(out, str_text(&number));
	}
	if (name->is_known || file) {
		if (file && name->module_short[0])
			str_add(out, "  ");
		str_add_cut_middle(out, name->module_short, columns);
	}
}

void text_callers(struct text *text, const struct report_context *context, struct walk *walk,
		  size_t columns)
{
	enum {
		CALLER_COLUMNS_MIN = 12,
		CALLER_COLUMNS_MAX = 44,
		ARROW_COLUMNS = 3,
		MORE_COLUMNS = 4
	};
	const struct name_frame *frame;
	uint64_t times;
	CLEAN(str_deinit) struct str line = { 0 };

	assert(walk->names == context->names);
	while ((frame = walk_next_run(walk, false, &times))) {
		const size_t taken = str_width(str_text(&line)) + ARROW_COLUMNS + MORE_COLUMNS;

		if (taken + CALLER_COLUMNS_MIN > columns) {
			str_add(&line, " ← …");
			break;
		}
		str_add(&line, line.len ? " ← " : "← ");
		str_add_function(&line, names_get(context->names, frame->name)->brief,
				 u64_min(CALLER_COLUMNS_MAX, columns - taken));
		text_times(&line, times);
	}
	text_add(text, TEXT_DIM, str_text(&line));
}

void text_times(struct str *out, uint64_t times)
{
	if (times < 2)
		return;
	str_add(out, " ×");
	str_add_grouped(out, times);
}

void text_bar(struct text *text, uint64_t value, uint64_t most, size_t columns)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	const size_t length = most ? (size_t)u64_mul_div(value, columns * 8, most) : 0;

	assert(value <= most || most == 0);
	text_style(text, TEXT_VALUE);
	for (size_t i = 0; i < length / 8; i++)
		str_add(&text->out, "█");
	str_add(&text->out, eighths[length % 8]);
	text_style(text, TEXT_PLAIN);
}
