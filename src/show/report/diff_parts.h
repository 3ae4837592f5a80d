/*
 * diff_parts: a comparison that was made, and the words for it. Internal to report.
 */
#ifndef MEMTAPE_REPORT_DIFF_PARTS_H
#define MEMTAPE_REPORT_DIFF_PARTS_H

#include "report/diff.h"
#include "report/text.h"

struct diff_answer {
	const struct diff_subject *subjects;
	const struct diff_settings *settings;
	struct diff_side sides[DIFF_SIDES];
	struct model_stack_sums totals[DIFF_SIDES];
	struct diff diff;
	size_t count;	      /* rows shown */
	size_t changed_count; /* rows there are that are not the same */
};

/* Without its diff. */
struct diff_answer diff_answer_begin(const struct diff_subject *subjects,
				     const struct diff_settings *settings);

/* Whether the metric says anything of what is compared. */
bool diff_metric_is_told(const struct diff_answer *answer, enum metric metric);

double diff_magnitude(double change);

/* "1.2 MiB" or "3", as the metric is; and "+1.2 MiB", "-3", "0". */
void diff_add_value(struct str *out, enum metric metric, double value);
void diff_add_change(struct str *out, enum metric metric, double change);
void diff_add_percent(struct str *out, double part, double whole);

/* "peak", "sum of leaks", "live memory" */
const char *diff_metric_noun(const struct diff_settings *settings, enum metric metric);

/* "B's peak is 12.3 MiB (34.0 %) higher; 80.0 % of it from parse_chunk" */
void diff_add_verdict(struct str *out, const struct diff_answer *answer);

bool diff_is_exceeded(const struct diff_answer *answer, const struct gate_condition *condition);

struct err *diff_write_text(const struct diff_answer *answer, FILE *out);
struct err *diff_write_data(const struct diff_answer *answer, FILE *out);

#endif
