/*
 * memcheck: leaks as Valgrind's Memcheck writes them, for those who read its text. Internal to
 * report.
 */
#ifndef MEMTAPE_REPORT_MEMCHECK_H
#define MEMTAPE_REPORT_MEMCHECK_H

#include "questions/leaks.h"
#include "report/text.h"

/* The lines "definitely lost: 8 bytes in 2 blocks"; prefix stands before each. */
void memcheck_summary(struct str *out, const char *prefix, const struct loss_classes *classes);

struct err *memcheck_text(const struct report_context *context,
			  const struct leak_classes_answer *answer, FILE *out);

#endif
