/*
 * diff_picture: a comparison as a flame graph, or as a page with one.
 */
#ifndef MEMTAPE_CLI_DIFF_PICTURE_H
#define MEMTAPE_CLI_DIFF_PICTURE_H

#include "answer/diff.h"
#include "compare/diff_tree.h"
#include "plot/flame.h"

struct diff_picture_question {
	const struct diff_found *found; /* for a page: rows by function */
	const struct diff_tree *tree;
	const char *filter;   /* for both sides; NULL: none */
	const char *title;    /* NULL: a title that says what changed */
	const char *subtitle; /* NULL: one that says what is compared */
	struct flame_look look;
};

/* The SVG file. */
struct err *diff_picture_write(const struct diff_picture_question *question, FILE *out);

/* The page, with as many frames as fit. ERR_LIMIT: over 4 MiB even with everything omitted. */
struct err *diff_picture_write_page(const struct diff_picture_question *question, FILE *out);

#endif
