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

/* Ends list and report, and tells of any write that failed. To be called once. */
struct err *table_end(struct table *table);

#endif
