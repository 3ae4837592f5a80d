/*
 * moment: the moment that --at names, for reports that can be of any. Internal to report.
 */
#ifndef MEMTAPE_REPORT_MOMENT_H
#define MEMTAPE_REPORT_MOMENT_H

#include "query/moment.h"
#include "report/report.h"

/* ns_ret is left alone when --at was not given. */
struct err *report_moment(const struct report_context *context, uint64_t *ns_ret);

/* The same; without --at where most of the heap was free (query/rss.h), or the end. */
struct err *report_moment_most_free(const struct report_context *context, uint64_t *ns_ret);

#endif
