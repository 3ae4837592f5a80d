/*
 * table: what rows say of the sums of a site. Internal to report.
 */
#ifndef MEMTAPE_REPORT_TABLE_H
#define MEMTAPE_REPORT_TABLE_H

#include "report/report.h"

/* What is said of a site's sums: peak_bytes, peak_count, leaked_bytes ... */
enum { TABLE_SUMS = 8 };
extern const enum metric table_sums[TABLE_SUMS];

/* Columns, and the members of a row, that metrics are in JSON and CSV: with the metric's key. */
void table_metric_columns(struct emit_column *columns, const enum metric *which, size_t count);
void table_metrics(struct emit *emit, const enum metric *which, size_t count,
		   const struct model_stack_sums *sums);

#endif
