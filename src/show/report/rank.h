/*
 * rank: functions sorted by a metric; shared by top, leaks, temporary and the summary. Internal to
 * report.
 */
#ifndef MEMTAPE_REPORT_RANK_H
#define MEMTAPE_REPORT_RANK_H

#include "answer/ranking.h"
#include "report/text.h"
#include "sums/sites.h"

/* The text of a ranking (answer/ranking.h): the first functions and their stacks. */
struct err *rank_ranking_text(const struct report_context *context, const void *answer, FILE *out);

/* The same, with a line below some functions: by index of sites; NULL: none. */
struct err *rank_noted_text(const struct report_context *context, const struct ranking *ranking,
			    const char *const *notes, FILE *out);

enum rank_detail {
	RANK_CALLERS, /* one line of callers below each function */
	RANK_STACKS   /* the heaviest stacks in full */
};

/*
 * Text: a heading and the first `top` functions. Nothing if there are none. notes: as above; NULL:
 * none at all.
 */
struct err *rank_text(const struct report_context *context, struct text *text,
		      const struct sites *sites, enum metric metric, size_t top,
		      enum rank_detail detail, const char *const *notes);

/* "share  bytes  blocks  ": share of the total. */
void rank_numbers(struct text *text, enum metric metric, const struct model_stack_sums *sums,
		  uint64_t whole);

/* "function  file:line  module" and a newline, within this many columns. */
void rank_frame(struct text *text, const struct report_context *context,
		const struct name_frame *frame, uint64_t times, enum text_style style,
		size_t columns);

/* A line "<- caller <- caller" of the stack, if it has callers. */
void rank_callers(struct text *text, const struct report_context *context, uint32_t stack,
		  size_t indent);

/* The innermost frame of a stack that is displayed. */
const struct name_frame *rank_site_frame(const struct report_context *context, uint32_t stack);

#endif
