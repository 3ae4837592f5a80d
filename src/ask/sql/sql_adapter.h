/*
 * sql_adapter: all there is of SQLite, behind a few functions. A connection knows the tables and
 * functions of sql_table.h and accepts nothing that writes. Internal to sql.
 */
#ifndef MEMTAPE_SQL_SQL_ADAPTER_H
#define MEMTAPE_SQL_SQL_ADAPTER_H

#include "sql/sql_table.h"

struct sqlite3;
struct sqlite3_stmt;
struct sql_link;

struct sql {
	struct sqlite3 *db;
	struct sql_link *links; /* the adapter's */
	struct sql_settings settings;
	struct sql_context context;
	bool is_declaring; /* a table, to SQLite, which then creates one */
	bool is_copying;   /* set before it is opened: statements are ours, may write, and have no
			      limits */
	unsigned function_count; /* that the statement calls */
	struct err *stop;	 /* why a table, a function or the clock ended the statement */
};

/* sql is zeroed but for settings and context; close it also after an error. */
struct err *sql_adapter_open(struct sql *sql);
void sql_adapter_close(struct sql *sql);

/*
 * What sql.c passes to the adapter: whether a statement may call a function of that name,
 * once more; and how many tables and functions there are.
 */
bool sql_function_is_allowed(struct sql *sql, const char *name);
size_t sql_names_count(void);

enum sql_outcome { SQL_ROW, SQL_DONE, SQL_FAILED };

/*
 * The first statement of text, and where the next one begins. *statement_ret is NULL when there is
 * nothing but space and comments. SQL_FAILED or SQL_DONE.
 */
enum sql_outcome sql_adapter_prepare(struct sql *sql, const char *text,
				     struct sqlite3_stmt **statement_ret, const char **rest_ret);
void sql_adapter_finalize(struct sqlite3_stmt *statement); /* NULL is fine */
CLEAN_DEFINE(sql_adapter_finalize, struct sqlite3_stmt *);

enum sql_outcome sql_adapter_step(struct sqlite3_stmt *statement);

size_t sql_adapter_column_count(struct sqlite3_stmt *statement);
/* As declared; the name is NULL when there is no memory. */
struct sql_head sql_adapter_head(struct sqlite3_stmt *statement, size_t column);
struct sql_value sql_adapter_value(struct sqlite3_stmt *statement, size_t column);

/*
 * What SQL_FAILED was about, in *code_ret and words; *offset_ret is where in the text, -1: unknown.
 */
const char *sql_adapter_error(struct sql *sql, enum err_code *code_ret, int *offset_ret);

#endif
