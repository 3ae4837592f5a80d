/*
 * sql: a model as tables of SQLite, to be asked and never changed.
 *
 *	CLEAN(sql_destroy) struct sql *sql = NULL;
 *	struct err *err = sql_create(model, names, &settings, &sql);
 *	...
 *	err = sql_run(sql, "SELECT sum(size) FROM allocations", 1, &sink);
 *
 * The tables (sql_tables.c lists them) are virtual: rows are read from the model when a statement
 * asks for them, and what a statement says about times, sizes, threads and stacks is tested before
 * SQLite sees the row. Functions are symbolized only when a statement asks for names.
 *
 * Statements may come from strangers: nothing but SELECT (and EXPLAIN) is accepted, no file is
 * opened but SQLite's own unnamed temporary ones (and these only without stays_in_memory), and time
 * and memory have limits.
 *
 * Integers are SQLite's: 64 bits with a sign; larger numbers of a tape show as the largest of them.
 * A sql belongs to one thread; model and names must outlive it. Texts in errors are for people.
 */
#ifndef MEMTAPE_SQL_SQL_H
#define MEMTAPE_SQL_SQL_H

#include "base/str.h"
#include "model/names.h"

struct suppressor;

enum sql_kind { SQL_NULL, SQL_INTEGER, SQL_REAL, SQL_TEXT, SQL_BLOB };

struct sql_value {
	enum sql_kind kind;
	int64_t integer;
	double real;
	const char *text; /* SQL_TEXT; in results also SQL_REAL, with or without an exponent */
	size_t bytes;	  /* of text and blob */
};

struct sql_settings {
	uint64_t memory_bytes; /* of SQLite, over all connections of the process; 0: unlimited */
	uint64_t timeout_ns;   /* per statement; 0: unlimited */
	/* What raises these limits, for errors: "--memory"; NULL: nothing does. */
	const char *memory_option, *timeout_option;
	struct suppressor *suppressor;	       /* of leaks, borrowed; NULL: all are leaks */
	bool stays_in_memory;		       /* no temporary files: sorting counts as memory */
	bool (*is_interrupted)(void *context); /* polled some hundred times a second; may be NULL */
	void *context;
};

struct sql_head {
	const char *name;
	bool is_text; /* the column has texts, judging by the first row */
};

/*
 * Receives rows. Pointers are valid during the call; an error ends the statement and is returned.
 */
struct sql_sink {
	struct err *(*begin)(void *context, const struct sql_head *heads, size_t count);
	struct err *(*row)(void *context, const struct sql_value *values);
	struct err *(*end)(void *context);
	void *context;
};

struct sql;

struct err *sql_create(const struct model *model, struct names *names,
		       const struct sql_settings *settings, struct sql **sql_ret);
void sql_destroy(struct sql *sql); /* NULL is fine */
CLEAN_DEFINE(sql_destroy, struct sql *);

/*
 * Runs the statements of text in order and stops at the first error. ERR_USAGE: invalid statement;
 * the message has its line (the text's first is first_line) and column. ERR_LIMIT: time or memory
 * limit exceeded. ERR_STATE: interrupted.
 */
struct err *sql_run(struct sql *sql, const char *text, uint64_t first_line,
		    const struct sql_sink *sink);

/*
 * Writes an SQLite database to the file at path, which must be empty or not exist: all tables with
 * their rows, except live_at, which is for one moment.
 */
struct err *sql_copy(const struct model *model, struct names *names, struct suppressor *suppressor,
		     const char *path);

/*
 * Whether the text ends a statement: with a semicolon outside of quotes and comments.
 */
bool sql_is_complete(const char *text);

/* Describes tables, columns and functions for users; table NULL: all of them. */
struct err *sql_schema(const char *table, struct str *out);
void sql_list_tables(struct str *out);
void sql_list_functions(struct str *out);

/* Useful statements, NULL-terminated; each runs on every tape. */
struct sql_example {
	const char *about;
	const char *text;
};
extern const struct sql_example sql_examples[];

#endif
