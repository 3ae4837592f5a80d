/*
 * lines: the texts of a page that is scrolled: of a stack, findings, help. Internal to screen.
 */
#ifndef MEMTAPE_SCREEN_LINES_H
#define MEMTAPE_SCREEN_LINES_H

#include "base/str.h"
#include "base/vec.h"
#include "screen/screen.h"

struct line {
	enum cell_style style;
	unsigned indent;
	char *text; /* owned */
};

VEC_DEFINE(line_vec, struct line);

struct lines {
	struct line_vec items;
	unsigned width; /* columns to wrap at */
	bool failed;
};

void lines_add(struct lines *lines, enum cell_style style, unsigned indent, const char *text);

/* At blanks; a word that is too long is broken. */
void lines_add_wrapped(struct lines *lines, enum cell_style style, unsigned indent,
		       const char *text);

/* The same, with `head` before the first line, and the others below its text. */
void lines_add_item(struct lines *lines, enum cell_style style, unsigned indent, const char *head,
		    const char *text);

void lines_deinit(struct lines *lines);
CLEAN_DEFINE_DEINIT(lines_deinit, struct lines);

/* The pages. */
void lines_of_stack(const struct screen *screen, struct lines *lines);
void lines_of_findings(const struct screen *screen, struct lines *lines);
void lines_of_help(const struct screen *screen, struct lines *lines);

#endif
