/*
 * diff_picture: a comparison as a flame graph, or as a page with one.
 */
#ifndef MEMTAPE_CLI_DIFF_PICTURE_H
#define MEMTAPE_CLI_DIFF_PICTURE_H

#include "answer/diff.h"
#include "compare/diff_tree.h"
#include "plot/flame.h"

struct diff_picture_question {
	const struct diff_found *found; /* for a page with rows by function */
	const struct diff_tree *tree;
	const char *filter;   /* of both; NULL: none */
	const char *title;    /* instead of what changed; NULL: that */
	const char *subtitle; /* instead of what is compared; NULL: that */
	struct flame_look look;
};

/* The SVG file. */
struct err *diff_picture_write(const struct diff_picture_question *question, FILE *out);

/* The page, with as many frames as there is room for. ERR_LIMIT: more than 4 MiB whatever is left
 * out. */
struct err *diff_picture_write_page(const struct diff_picture_question *question, FILE *out);

#endif
