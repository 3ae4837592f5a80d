/*
 * quality: warnings about a report's source: losses, truncated stacks, damage, and modules whose
 * names could not be read. Part of every report. Internal to report.
 */
#ifndef MEMTAPE_REPORT_QUALITY_H
#define MEMTAPE_REPORT_QUALITY_H

#include "report/text.h"

/* Text: a line per problem; nothing if there are none. */
void quality_text(struct text *text, const struct report_context *context);

#endif
