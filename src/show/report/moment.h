/*
 * moment: the moments that --at, --from and --until name, for reports that do with them what is
 * their own. Internal to report.
 */
#ifndef MEMTAPE_REPORT_MOMENT_H
#define MEMTAPE_REPORT_MOMENT_H

#include "report/report.h"
#include "select/moment.h"

/* ns_ret is left alone when --at was not given. */
struct err *report_moment(const struct report_context *context, uint64_t *ns_ret);

/*
 * From the start, until the end where nothing else was asked for. ERR_USAGE: the wrong way round.
 */
struct err *report_window(const struct report_context *context, uint64_t *from_ret,
			  uint64_t *until_ret);

/* The same for rows with times: without --until also those that came after the last event. */
struct err *report_window_rows(const struct report_context *context, uint64_t *from_ret,
			       uint64_t *until_ret);

/* The same; without --at where most of the heap was free (space/rss.h), or the end. */
struct err *report_moment_most_free(const struct report_context *context, uint64_t *ns_ret);

#endif
