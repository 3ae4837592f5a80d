/*
 * xtree: leaks in the format of Valgrind's --xtree-leak, for callgrind_annotate and KCachegrind.
 * Internal to report.
 */
#ifndef MEMTAPE_REPORT_XTREE_H
#define MEMTAPE_REPORT_XTREE_H

#include "questions/leaks.h"
#include "report/report.h"

struct err *xtree_write(const struct report_context *context,
			const struct leak_classes_answer *answer, FILE *out);

#endif
