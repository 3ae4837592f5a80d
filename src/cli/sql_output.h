/*
 * sql_output: rows of SQL as an aligned table, JSON or CSV. Numbers stay as they are, NULL is "-",
 * null and nothing; a blob is a text of hexadecimal digits. Each statement is a table of its own:
 * in JSON an array of objects.
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
	struct emit *emit; /* of the statement that runs; NULL between statements */
	struct emit_column *columns;
	size_t column_count;
	struct arena arena; /* of the columns */
	bool has_written;
};

/* output is zeroed but for out and settings, and outlives the sink. */
struct sql_sink sql_output_sink(struct sql_output *output);

/* After an error too: forgets what is half written. */
void sql_output_reset(struct sql_output *output);
void sql_output_deinit(struct sql_output *output);
CLEAN_DEFINE_DEINIT(sql_output_deinit, struct sql_output);

#endif
