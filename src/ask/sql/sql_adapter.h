/*
 * sql_adapter: everything that uses SQLite, behind a few functions. A connection has the tables and
 * functions of sql_table.h and accepts nothing that writes. Internal to sql.
 */
#ifndef MEMTAPE_SQL_SQL_ADAPTER_H
#define MEMTAPE_SQL_SQL_ADAPTER_H

#include "sql/sql_sums.h"

struct sqlite3;
struct sqlite3_stmt;
struct sql_link;

struct sql {
	struct sqlite3 *db;
	struct sql_link *links; /* private to the adapter */
	struct sql_settings settings;
	struct sql_context context;
	bool is_declaring; /* while a table is declared to SQLite, which then creates one */
	bool is_copying;   /* set before it is opened: statements are ours, may write, and have no
			      limits */
	unsigned function_count; /* number of function calls in the statement */
	struct err *stop;	 /* why a table, a function or the time limit ended the statement */
	struct sql_sums sums;	 /* what a statement of sql_rewrite.h reads */
	bool is_summing;	 /* such a statement is prepared */
	bool is_summed;		 /* the answer of the last statement is from one */
	char sums_name[40];	 /* the table of sums, as EXPLAIN names it */
	bool adds_in_order;	 /* see sql_sums.h */
};

/* sql must be zero except settings and context; close it also after an error. */
struct err *sql_adapter_open(struct sql *sql);
void sql_adapter_close(struct sql *sql);

/*
 * Functions of sql.c for the adapter: whether a statement may make one more call of this function;
 * and the number of tables and functions.
 */
bool sql_function_is_allowed(struct sql *sql, const char *name);
size_t sql_names_count(void);

enum sql_outcome { SQL_ROW, SQL_DONE, SQL_FAILED };

/*
 * Prepares the first statement of text, and finds the start of the next one. *statement_ret is NULL
 * if there are only spaces and comments. SQL_FAILED or SQL_DONE.
 */
enum sql_outcome sql_adapter_prepare(struct sql *sql, const char *text,
				     struct sqlite3_stmt **statement_ret, const char **rest_ret);
void sql_adapter_finalize(struct sqlite3_stmt *statement); /* NULL is fine */
CLEAN_DEFINE(sql_adapter_finalize, struct sqlite3_stmt *);

enum sql_outcome sql_adapter_step(struct sqlite3_stmt *statement);

size_t sql_adapter_column_count(struct sqlite3_stmt *statement);
/* As declared; the name is NULL if out of memory. */
struct sql_head sql_adapter_head(struct sqlite3_stmt *statement, size_t column);
struct sql_value sql_adapter_value(struct sqlite3_stmt *statement, size_t column);

/*
 * The error of SQL_FAILED, as *code_ret and words; *offset_ret is its position in the text, -1:
 * unknown.
 */
const char *sql_adapter_error(struct sql *sql, enum err_code *code_ret, int *offset_ret);

/*
 * Of sql_summing.c: if the statement from text to end has the same answer from the table of sums,
 * and only then, prepares one for it and makes its first step. NULL: it must be run itself.
 */
struct sqlite3_stmt *sql_sums_begin(struct sql *sql, const char *text, const char *end,
				    enum sql_outcome *outcome_ret);

#endif
