/*
 * suppressed: the suppressed leaks that were left out of a report's figures, listed next to them.
 * Internal to report.
 */
#ifndef MEMTAPE_REPORT_SUPPRESSED_H
#define MEMTAPE_REPORT_SUPPRESSED_H

#include "report/text.h"

/* Text: by rule, below a heading. Nothing if there are none. */
void suppressed_text(struct text *text, const struct report_context *context);

/* Text: one line, for a report in which leaks are one of several columns. */
void suppressed_line(struct text *text, const struct report_context *context);

/* "built-in, /home/you/project/.memtape/suppressions"; file: NULL: none */
void suppressed_add_origins(struct str *out, const char *file);

#endif
