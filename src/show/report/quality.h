/*
 * quality: what a reader of a report must know about its source: losses, cut stacks, damage, and
 * modules whose names could not be read. Part of every report. Internal to report.
 */
#ifndef MEMTAPE_REPORT_QUALITY_H
#define MEMTAPE_REPORT_QUALITY_H

#include "report/text.h"

/* Text: a line for each thing that is wrong; nothing when all is well. */
void quality_text(struct text *text, const struct report_context *context);

#endif
