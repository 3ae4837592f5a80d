/*
 * branches: the nodes of a tree, as lines. Internal to report.
 */
#ifndef MEMTAPE_REPORT_BRANCHES_H
#define MEMTAPE_REPORT_BRANCHES_H

#include "report/text.h"
#include "trees/tree.h"

/*
 * A line per node below the root, at most top (0: all), and how many more there are. A chain of
 * single calls is one block without further indentation.
 */
struct err *branches_text(struct text *text, const struct report_context *context,
			  const struct tree *tree, size_t top);

/* "12.3 MiB alive at the peak" */
void branches_total(struct str *out, const struct report_context *context, const struct tree *tree);

#endif
