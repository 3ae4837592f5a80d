/*
 * suppressed: what of the leaks is known and was left out of a report's figures, said beside them.
 * Internal to report.
 */
#ifndef MEMTAPE_REPORT_SUPPRESSED_H
#define MEMTAPE_REPORT_SUPPRESSED_H

#include "report/text.h"

/* Text: by rule, below a heading. Nothing where there is nothing to tell. */
void suppressed_text(struct text *text, const struct report_context *context);

/* Text: one line for a report of which leaks are one column among others. */
void suppressed_line(struct text *text, const struct report_context *context);

/* "built-in, /home/you/project/.memtape/suppressions"; file: NULL: none */
void suppressed_add_origins(struct str *out, const char *file);

#endif
