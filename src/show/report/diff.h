/*
 * diff: a comparison (answer/diff.h) in the format of `memtape diff`.
 */
#ifndef MEMTAPE_REPORT_DIFF_H
#define MEMTAPE_REPORT_DIFF_H

#include "answer/diff.h"
#include "report/report.h"

/* In settings->format, with settings->with.top rows; text leaves out unchanged rows. */
struct err *diff_report(const struct diff_found *found, const struct report_settings *settings,
			FILE *out);

#endif
