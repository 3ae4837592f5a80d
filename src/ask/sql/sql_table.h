/*
 * sql_table: tables of SQL, independent of SQLite. The adapter turns SQLite's calls into these, so
 * that a table is one const object and its file does not use the library. Internal to sql.
 */
#ifndef MEMTAPE_SQL_SQL_TABLE_H
#define MEMTAPE_SQL_SQL_TABLE_H

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "sql/sql.h"
#include "sums/suppress.h"

struct facts;
struct field;
struct regex_cache;
struct space;
struct sql_fields;
struct sql_sums;

/* Shared by all tables and functions of a connection. */
struct sql_context {
	const struct model *model;
	struct names *names;
	const struct sql_settings *settings;
	uint64_t deadline_ns;  /* of the statement, CLOCK_MONOTONIC; 0: none */
	struct arena arena;    /* for results that are computed once */
	uint32_t *depths;      /* by stack; NULL until needed */
	const char **sites;    /* by stack: its function; NULL until needed, as are the following */
	void *functions;       /* of sql_functions.c */
	size_t function_count; /* of them */
	struct interner texts; /* table parameters */
	const struct suppressed *suppressed; /* NULL: nothing suppressed, or not needed yet */
	struct model_sum *thread_suppressed; /* by thread; NULL: none, or not needed */
	bool has_leaks;			     /* suppressions were computed */
	struct facts *facts;		     /* for the fields; NULL until needed */
	struct space *space;		     /* at the end of the run; NULL until needed */
	const void *nodes;		     /* of sql_nodes.c; NULL until needed */
	size_t node_count;		     /* of them */
	struct regex_cache *regexes;	     /* NULL until needed */
	const struct sql_sums *sums; /* what the statement reads of sql_sums.h; NULL: nothing */
	bool has_no_sums;	     /* they cannot be had: the rows must be read */
};

void sql_context_deinit(struct sql_context *context);

/* To be called regularly in long work; the error says why to stop. */
struct err *sql_context_check(const struct sql_context *context);

/* Remaining time, at least 1; 0: unlimited. */
uint64_t sql_context_rest_ns(const struct sql_context *context);

/*
 * Computes which leaks are suppressed: call it before reading leaks. Then the sums of stacks
 * exclude them.
 */
struct err *sql_context_find_leaks(struct sql_context *context);

static inline const struct model_stack_sums *sql_context_sums(const struct sql_context *context,
							      size_t stack)
{
	return context->suppressed ? sums_of_stack(&context->suppressed->sums, stack)
				   : model_stack_sums(context->model, stack);
}

/*
 * Number of frames of each stack, up to the outermost address; 0 for the special stacks. NULL: out
 * of memory.
 */
const uint32_t *sql_context_depths(struct sql_context *context);

enum sql_column_flag {
	SQL_KEY = 1 << 0,	/* the row number: direct lookup */
	SQL_SORTED = 1 << 1,	/* rows are in its order and found by it */
	SQL_TESTED = 1 << 2,	/* the table tests limits on it */
	SQL_NULLABLE = 1 << 3,	/* null_value stands for NULL, and is the greatest value */
	SQL_NULL_AMID = 1 << 4, /* the same, but greater values are possible */
	SQL_PARAMETER = 1 << 5, /* hidden; passed as the argument of the table */
	SQL_TEXTUAL = 1 << 6,	/* text; other columns are integers */
	SQL_LEAKS = 1 << 7	/* leaked or suppressed */
};

struct sql_column {
	const char *name;
	unsigned flags;
	uint64_t null_value;
	const char *about; /* a few words and the unit */
};

/* Values of an IN list, sorted, distinct. */
struct sql_set {
	uint64_t *values;
	size_t count;
	uint64_t *bits; /* by value - values[0]; NULL: the range is too large */
};

/* The values of a column that constraints leave. May include too many: SQLite checks again. */
struct sql_limits {
	uint64_t min;
	uint64_t max;	    /* inclusive; below min: no values */
	struct sql_set set; /* count 0: all values between */
};

/* Limits of a column without constraints. */
static inline struct sql_limits sql_limits_all(void)
{
	return (struct sql_limits) { 0, UINT64_MAX, { 0 } };
}

void sql_limits_deinit(struct sql_limits *limits);
bool sql_limits_allow_in_set(const struct sql_limits *limits, uint64_t value);

static inline bool sql_limits_allow(const struct sql_limits *limits, uint64_t value)
{
	return value >= limits->min && value <= limits->max &&
	       (limits->set.count == 0 || sql_limits_allow_in_set(limits, value));
}

struct sql_table;

/* Cursors start with this struct; initially zero. */
struct sql_cursor {
	const struct sql_table *table;
	struct sql_context *context;
	struct sql_limits *limits;  /* by column */
	struct sql_value parameter; /* SQL_NULL: not given */
	uint64_t row;
	uint64_t row_end;   /* one past the last row, in the scan's direction */
	bool is_descending; /* set before begin */
	bool is_ended;
};

struct sql_table {
	const char *name;
	const char *about; /* a sentence without a full stop */
	const struct sql_column *columns;
	size_t column_count;
	bool has_fields;       /* allocations: the filter language's fields follow the columns */
	bool has_sums;	       /* of allocations: sums follow the fields */
	bool is_exact;	       /* rows outside of limits by integers are never returned */
	uint64_t rows_per_key; /* rough number of rows per key value; exact if 1 */

	/* Rows 0 .. count - 1; the number is the SQL_KEY column's value if rows_per_key is 1. */
	uint64_t (*row_count)(const struct sql_context *context);

	/* Needed if all columns can be computed from the row number: */
	struct err *(*prepare)(struct sql_context *context);	   /* may be NULL */
	struct err *(*prepare_leaks)(struct sql_context *context); /* the same, for SQL_LEAKS */
	bool (*is_row)(const struct sql_context *context, uint64_t row); /* NULL: all are */
	void (*row_value)(struct sql_context *context, uint64_t row, unsigned column,
			  struct sql_value *value); /* NULL on entry */

	/* Other tables use the first four and these, and row_value is NULL. */
	size_t cursor_bytes;
	struct err *(*begin)(struct sql_cursor *cursor); /* may be called again */
	struct err *(*next)(struct sql_cursor *cursor);
	/* value is NULL on entry. */
	struct err *(*value)(struct sql_cursor *cursor, unsigned column, struct sql_value *value);
	uint64_t (*row_id)(const struct sql_cursor *cursor); /* unique; NULL: cursor->row */
	void (*end)(struct sql_cursor *cursor);		     /* frees what it owns; may be NULL */
};

/* All of them, NULL at the end. */
extern const struct sql_table *const sql_tables[];

/* Limits the scan to rows allowed by the key's limits, in the scan's direction. */
void sql_cursor_bound(struct sql_cursor *cursor, const struct sql_limits *key, uint64_t row_count);

/* Steps row; sets is_ended after the last. */
static inline void sql_cursor_step(struct sql_cursor *cursor)
{
	cursor->row += cursor->is_descending ? UINT64_MAX : 1;
	cursor->is_ended = cursor->row == cursor->row_end;
}

/* For any table. A new cursor has no limits; widen removes them again. NULL: out of memory. */
struct sql_cursor *sql_cursor_create(const struct sql_table *table, struct sql_context *context);
void sql_cursor_destroy(struct sql_cursor *cursor); /* NULL is fine */
void sql_cursor_widen(struct sql_cursor *cursor);

/* Adds a constraint on the column; false: out of memory. */
bool sql_cursor_narrow(struct sql_cursor *cursor, unsigned column, unsigned op,
		       const struct sql_value *value);

/* begin may be called again. value is NULL on entry. */
struct err *sql_cursor_begin(struct sql_cursor *cursor, bool is_descending);
struct err *sql_cursor_next(struct sql_cursor *cursor);
struct err *sql_cursor_value(struct sql_cursor *cursor, unsigned column, struct sql_value *value);
uint64_t sql_cursor_row_id(const struct sql_cursor *cursor);

/* The table's CREATE TABLE statement. */
void sql_table_declare(const struct sql_table *table, struct str *out);

/*
 * The fields that are hidden columns after the table's own, at most `room`; returns their number.
 */
size_t sql_fields_list(const struct sql_table *table, const struct field **fields, size_t room);

/*
 * Value of the index-th field in the cursor's row, which is in the batch that starts at row first.
 * *fields is created if NULL, and owned by the caller.
 */
struct err *sql_fields_value(struct sql_fields **fields, struct sql_cursor *cursor, size_t index,
			     uint64_t first, size_t count, struct sql_value *value);
/*
 * The same for the whole batch, as numbers, of which FIELD_NONE is NULL; and the value that such a
 * number stands for. Valid until the batch changes.
 */
struct err *sql_fields_values(struct sql_fields **fields, struct sql_cursor *cursor, size_t index,
			      uint64_t first, size_t count, const uint64_t **values_ret);
void sql_fields_show(const struct sql_fields *fields, const struct sql_context *context,
		     size_t index, uint64_t number, struct sql_value *value);
void sql_fields_forget(struct sql_fields *fields);  /* call when the batch changes; NULL is fine */
void sql_fields_destroy(struct sql_fields *fields); /* NULL is fine */

/* Columns for sums by stack, in the order of sql_sums; `what` describes the stacks. */
#define SQL_SUM_COLUMNS(prefix, what)                                                              \
	{ prefix "allocated_count", 0, 0, what },                                                  \
		{ prefix "allocated_bytes", 0, 0, "requested by them" },                           \
		{ prefix "peak_count", 0, 0, "of them alive when live bytes were highest" },       \
		{ prefix "peak_bytes", 0, 0, "requested by those" },                               \
		{ prefix "leaked_count", SQL_LEAKS, 0, "never freed, and not suppressed" },        \
		{ prefix "leaked_bytes", SQL_LEAKS, 0, "requested by those" },                     \
		{ prefix "temporary_count", 0, 0, "freed before their thread's next allocation" }, \
	{                                                                                          \
		prefix "temporary_bytes", 0, 0, "requested by those"                               \
	}

extern const enum metric sql_sums[];
enum { SQL_SUMS = 8 };

/* Set a value; texts must live as long as the context. NULL text is SQL NULL. */
static inline void sql_value_u64(struct sql_value *value, uint64_t number)
{
	value->kind = SQL_INTEGER;
	value->integer = number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

static inline void sql_value_i64(struct sql_value *value, int64_t number)
{
	value->kind = SQL_INTEGER;
	value->integer = number;
}

static inline void sql_value_text(struct sql_value *value, const char *text)
{
	if (!text)
		return;
	value->kind = SQL_TEXT;
	value->text = text;
	value->bytes = strlen(text);
}

/* NULL if number equals none. */
static inline void sql_value_unless(struct sql_value *value, uint64_t number, uint64_t none)
{
	if (number != none)
		sql_value_u64(value, number);
}

void sql_regexes_destroy(struct regex_cache *regexes); /* NULL is fine */

/* An SQL function with at most SQL_ARGUMENTS_MAX arguments. */
enum { SQL_ARGUMENTS_MAX = 3 };

struct sql_scalar {
	const char *name;
	unsigned argument_count;
	const char *usage; /* "human_bytes(n)" */
	const char *about;
	/*
	 * result is NULL on entry; its text lives as long as the context or is in *out, which is
	 * empty on entry. An error ends the statement.
	 */
	struct err *(*call)(struct sql_context *context, const struct sql_value *arguments,
			    struct sql_value *result, struct str *out);
	bool takes_texts; /* arguments are SQL_TEXT, SQL_BLOB with its bytes as text, or SQL_NULL */
};

/* All functions; the last has no name. Text functions replace SQLite's own. */
extern const struct sql_scalar sql_scalars[], sql_text_scalars[];

enum { SQL_TEXT_MAX = 2 << 20 }; /* maximum bytes of a text or a blob */

#endif
