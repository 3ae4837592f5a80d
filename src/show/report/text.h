/*
 * text: output for terminals. Internal to report. Hostile names are sanitized here.
 */
#ifndef MEMTAPE_REPORT_TEXT_H
#define MEMTAPE_REPORT_TEXT_H

#include "base/shorten.h"
#include "report/report.h"

enum text_style { TEXT_PLAIN, TEXT_BOLD, TEXT_DIM, TEXT_GOOD, TEXT_BAD, TEXT_VALUE, TEXT_ALARM };

struct text {
	struct str out;
	bool colour;
	unsigned width; /* columns; never 0 */
	unsigned fold;	/* columns at which lines are folded; 0: not a terminal, never */
};

struct text text_begin(const struct report_settings *settings);
struct err *text_write(struct text *text, FILE *out); /* flushes everything so far */
void text_deinit(struct text *text);
CLEAN_DEFINE_DEINIT(text_deinit, struct text);

void text_style(struct text *text, enum text_style style); /* TEXT_PLAIN ends any other */
void text_add(struct text *text, enum text_style style, const char *words);

/* Right-aligned in `columns`. */
void text_right(struct text *text, enum text_style style, const char *words, size_t columns);

/* Two lines: the command, and how it ended. */
void text_head(struct text *text, const struct model *model);

/* Whether the program went on: what is alive at the end of the tape may still be freed. */
bool text_goes_on(const struct model *model);

/* Whether the program became another one: then nothing leaked, the kernel freed everything. */
bool text_was_replaced(const struct model *model);

void text_heading(struct text *text, const char *words, const char *right);

/* "  label       " in a block of facts. */
void text_label(struct text *text, const char *label);

/* A function name for humans, at most `columns` wide (base/shorten.h). */
void text_function(struct text *text, enum text_style style, const char *function, size_t columns);

/*
 * "list.c:42  libfoo.so"; nothing for an unknown function, whose text contains its location. Each half is
 * at most `columns` wide, its number whole; 0: as wide as it is.
 */
void text_place(struct str *out, const char *file, uint32_t line, const struct name *name,
		size_t columns);

/* " < a < b < c" on the rest of the line; continues the walk. */
void text_callers(struct text *text, const struct report_context *context, struct walk *walk,
		  size_t columns);

/* " ×3" after a recursive function; nothing for once. */
void text_times(struct str *out, uint64_t times);

/* A bar for value / most, with this many columns at most, in steps of an eighth of a column. */
void text_bar(struct text *text, uint64_t value, uint64_t most, size_t columns);

#endif
