/*
 * lsan: leaks as LeakSanitizer writes them, and rules that suppress them, for it and for memtape.
 * Internal to report.
 */
#ifndef MEMTAPE_REPORT_LSAN_H
#define MEMTAPE_REPORT_LSAN_H

#include "questions/leaks.h"
#include "report/report.h"

/* Definitely and indirectly lost blocks: to LeakSanitizer a pointer into the middle is a pointer. */
struct err *lsan_text(const struct report_context *context,
		      const struct leak_classes_answer *answer, FILE *out);

/* A rule for each function that allocated lost blocks: leak:FUNCTION. */
struct err *lsan_suppressions(const struct report_context *context,
			      const struct leak_classes_answer *answer, FILE *out);

#endif
