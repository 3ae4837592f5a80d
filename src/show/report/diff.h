/*
 * diff: the answer of `memtape diff`, in any format.
 */
#ifndef MEMTAPE_REPORT_DIFF_H
#define MEMTAPE_REPORT_DIFF_H

#include "compare/diff.h"
#include "compare/gate.h"
#include "report/report.h"

/* One side. */
struct diff_subject {
	const struct model *model;
	struct names *names;
	const char *path;   /* of the tape, as the user wrote it */
	const char *moment; /* "at 50%", "10s..20s", as the user wrote it; NULL: the whole tape */
	struct sums sums;
	struct model_sum suppressed; /* leaks that are known, and not in the sums */
	uint64_t units;
	uint64_t from_ns; /* of the moment or the span; 0 and MODEL_NEVER: the whole tape */
	uint64_t until_ns;
};

struct diff_settings {
	struct report_settings report; /* format, colour, width, top, shows_all */
	enum diff_by by;
	enum metric metric;	 /* by which rows are in order, and of which the verdict is */
	bool is_live;		 /* peak means: alive at a moment */
	const struct gate *gate; /* NULL: none */
};

/*
 * subjects: DIFF_SIDES of them. *is_exceeded_ret tells whether a condition of the gate was.
 */
struct err *diff_report(const struct diff_subject *subjects, const struct diff_settings *settings,
			bool *is_exceeded_ret, FILE *out);

/* The gate alone: whether a condition was exceeded. */
bool diff_is_failed(const struct diff_subject *subjects, const struct gate *gate);

/* "B's peak is 12.3 MiB (34.0 %) higher": the verdict without its reason. */
void diff_add_change_words(struct str *out, const struct diff_subject *subjects,
			   const struct diff_settings *settings);

#endif
