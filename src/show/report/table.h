/*
 * table: a report that is one list of rows: a text table, {"KEY": [...], "quality": {...}}, or CSV.
 * Internal to report.
 */
#ifndef MEMTAPE_REPORT_TABLE_H
#define MEMTAPE_REPORT_TABLE_H

#include "report/report.h"

struct table {
	const struct report_context *context;
	struct emit *emit; /* emit_row ... emit_end between begin and end */
	FILE *out;
	const char *remark; /* a line for people below the rows; NULL: none */
};

/* columns are borrowed until table_end. */
struct err *table_begin(struct table *table, const struct report_context *context, FILE *out,
			const char *key, const struct emit_column *columns, size_t column_count);

/* What is said of a site's sums: peak_bytes, peak_count, leaked_bytes ... */
enum { TABLE_SUMS = 8 };
extern const enum metric table_sums[TABLE_SUMS];

/* Columns, and the members of a row, that metrics are in JSON and CSV: with the metric's key. */
void table_metric_columns(struct emit_column *columns, const enum metric *which, size_t count);
void table_metrics(struct emit *emit, const enum metric *which, size_t count,
		   const struct model_stack_sums *sums);

/* Ends list and report, and tells of any write that failed. To be called once. */
struct err *table_end(struct table *table);

#endif
