/*
 * branches: the nodes of a tree, as lines for people and as rows for programs. Internal to report.
 */
#ifndef MEMTAPE_REPORT_BRANCHES_H
#define MEMTAPE_REPORT_BRANCHES_H

#include "report/text.h"
#include "trees/tree.h"

/*
 * A line for each node below the root, at most top (0: all), and how many more there are. A chain
 * of single calls is one block without further indentation.
 */
struct err *branches_text(struct text *text, const struct report_context *context,
			  const struct tree *tree, size_t top);

/* "12.3 MiB alive at the peak" */
void branches_total(struct str *out, const struct tree *tree);

/* Columns of the rows that branches_emit writes. */
extern const struct emit_column branches_columns[];
extern const size_t branches_column_count;

/* A row for each node; extra, if it is not NULL, is the value of a column "direction". */
void branches_emit(struct emit *emit, const struct report_context *context, const struct tree *tree,
		   const char *direction);

#endif
