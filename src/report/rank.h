/*
 * rank: functions in the order of a metric; what top, leaks, temporary and the summary share.
 * Internal to report.
 */
#ifndef MEMTAPE_REPORT_RANK_H
#define MEMTAPE_REPORT_RANK_H

#include "query/sites.h"
#include "report/text.h"

/* The whole report about one metric, in any format. */
struct err *rank_report(const struct report_context *context, enum metric metric, FILE *out);

enum rank_detail {
	RANK_CALLERS, /* one line of callers below each function */
	RANK_STACKS   /* the heaviest stacks in full */
};

/* Text: a heading and the first `top` functions. Nothing at all when there is none. */
struct err *rank_text(const struct report_context *context, struct text *text,
		      const struct sites *sites, enum metric metric, size_t top,
		      enum rank_detail detail);

/* {"function","file","line","module","inlined"} of a whole stack, innermost first. */
void rank_emit_stack(struct emit *emit, const char *key, const struct report_context *context,
		     uint32_t stack);

#endif
