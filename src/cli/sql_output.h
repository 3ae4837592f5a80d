/*
 * sql_output: rows of SQL as an aligned table, JSON or CSV. Numbers are written unchanged; NULL is
 * "-", null and empty, respectively; a blob is hexadecimal text. Each statement is a table of its
 * own: in JSON an array of objects.
 */
#ifndef MEMTAPE_CLI_SQL_OUTPUT_H
#define MEMTAPE_CLI_SQL_OUTPUT_H

#include "base/arena.h"
#include "base/emit.h"
#include "sql/sql.h"

struct sql_output {
	FILE *out;
	struct emit_settings settings;
	/* private from here */
	struct emit *emit; /* of the running statement; NULL between statements */
	struct emit_column *columns;
	size_t column_count;
	struct arena arena; /* of the columns */
	bool has_written;
};

/* output must be zero except out and settings, and outlive the sink. */
struct sql_sink sql_output_sink(struct sql_output *output);

/* Discards a half-written statement, also after an error. */
void sql_output_reset(struct sql_output *output);
void sql_output_deinit(struct sql_output *output);
CLEAN_DEFINE_DEINIT(sql_output_deinit, struct sql_output);

#endif
