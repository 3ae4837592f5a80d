/*
 * diff: a comparison (answer/diff.h) as `memtape diff` prints it.
 */
#ifndef MEMTAPE_REPORT_DIFF_H
#define MEMTAPE_REPORT_DIFF_H

#include "answer/diff.h"
#include "report/report.h"

/* In settings->format, with settings->with.top rows; text leaves out what is the same. */
struct err *diff_report(const struct diff_found *found, const struct report_settings *settings,
			FILE *out);

#endif
