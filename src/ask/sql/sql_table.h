/*
 * sql_table: what a table of SQL is, without SQLite. sql.c turns SQLite's calls into these, so that
 * a table is one const object and its file knows nothing of the library. Internal to sql.
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

/* What all tables and functions of a connection share. */
struct sql_context {
	const struct model *model;
	struct names *names;
	const struct sql_settings *settings;
	uint64_t deadline_ns;  /* of the statement, CLOCK_MONOTONIC; 0: none */
	struct arena arena;    /* for what is computed once */
	uint32_t *depths;      /* by stack; NULL until asked for */
	const char **sites;    /* by stack: its function; NULL until asked for, as is each */
	void *functions;       /* of sql_functions.c */
	size_t function_count; /* of them */
	struct interner texts; /* parameters of tables */
	const struct suppressed *suppressed; /* NULL: nothing is, or not asked for yet */
	struct model_sum *thread_suppressed; /* by thread; NULL: nothing is, or not asked for */
	bool has_leaks;			     /* they were asked for */
	struct facts *facts;		     /* of the fields; NULL until asked for */
	struct space *space;		     /* at the end of the run; NULL until asked for */
	struct regex_cache *regexes;	     /* NULL until asked for */
};

void sql_context_deinit(struct sql_context *context);

/* Long work asks from time to time; the error says why to stop. */
struct err *sql_context_check(const struct sql_context *context);

/* What is left of the time allowed, at least 1; 0: unlimited. */
uint64_t sql_context_rest_ns(const struct sql_context *context);

/*
 * Finds which leaks are suppressed: before anything that leaked is read. Then the sums of a stack
 * are without them.
 */
struct err *sql_context_find_leaks(struct sql_context *context);

static inline const struct model_stack_sums *sql_context_sums(const struct sql_context *context)
{
	return context->suppressed ? context->suppressed->sums.stacks
				   : model_stack_sums(context->model);
}

/* Frames of a stack, from the outermost address on; 0 for the special stacks. NULL: no memory. */
const uint32_t *sql_context_depths(struct sql_context *context);

enum sql_column_flag {
	SQL_KEY = 1 << 0,	/* the number of the row: found at once */
	SQL_SORTED = 1 << 1,	/* rows come in its order, and are found by it */
	SQL_TESTED = 1 << 2,	/* the table tests limits of it */
	SQL_NULLABLE = 1 << 3,	/* null_value stands for NULL, and is greater than all others */
	SQL_NULL_AMID = 1 << 4, /* the same, but there may be greater ones */
	SQL_PARAMETER = 1 << 5, /* hidden; must be given, as the argument of the table */
	SQL_TEXTUAL = 1 << 6,	/* the others are integers */
	SQL_LEAKS = 1 << 7	/* what leaked or is suppressed */
};

struct sql_column {
	const char *name;
	unsigned flags;
	uint64_t null_value;
	const char *about; /* a few words with the unit */
};

/* Values of an IN list, sorted, none twice. */
struct sql_set {
	uint64_t *values;
	size_t count;
	uint64_t *bits; /* by value - values[0]; NULL: the values are too far apart */
};

/* What constraints leave of a column. They may leave too much: SQLite looks again. */
struct sql_limits {
	uint64_t min;
	uint64_t max;	    /* inclusive; less than min: nothing */
	struct sql_set set; /* count 0: all between */
};

/* Of a column that nothing was said about. */
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

/* A cursor's storage begins with this; it is zeroed at first. */
struct sql_cursor {
	const struct sql_table *table;
	struct sql_context *context;
	struct sql_limits *limits;  /* by column */
	struct sql_value parameter; /* SQL_NULL: none was given */
	uint64_t row;
	uint64_t row_end;   /* the last one's successor in the direction of the scan */
	bool is_descending; /* set before begin */
	bool is_ended;
};

struct sql_table {
	const char *name;
	const char *about; /* a sentence without a full stop */
	const struct sql_column *columns;
	size_t column_count;
	bool has_fields; /* allocations: after the columns come those of the filter language */
	uint64_t rows_per_key; /* how many rows a value of the key has, roughly; 1: exactly */

	/* Rows 0 .. count - 1; the number is the SQL_KEY column's value if rows_per_key is 1. */
	uint64_t (*row_count)(const struct sql_context *context);

	/* Rows that are values of one row's number need no more than these. */
	struct err *(*prepare)(struct sql_context *context);	   /* may be NULL */
	struct err *(*prepare_leaks)(struct sql_context *context); /* the same, of SQL_LEAKS */
	bool (*is_row)(const struct sql_context *context, uint64_t row); /* NULL: all are */
	void (*row_value)(struct sql_context *context, uint64_t row, unsigned column,
			  struct sql_value *value); /* NULL on entry */

	/* Tables of another kind: the first four, and row_value is NULL. */
	size_t cursor_bytes;
	struct err *(*begin)(struct sql_cursor *cursor); /* also a second time */
	struct err *(*next)(struct sql_cursor *cursor);
	/* value is NULL on entry. */
	struct err *(*value)(struct sql_cursor *cursor, unsigned column, struct sql_value *value);
	uint64_t (*row_id)(const struct sql_cursor *cursor); /* unique; NULL: cursor->row */
	void (*end)(struct sql_cursor *cursor);		     /* frees what it owns; may be NULL */
};

/* All of them, NULL at the end. */
extern const struct sql_table *const sql_tables[];

/* Rows the limits of a key leave, in the direction of the scan. */
void sql_cursor_bound(struct sql_cursor *cursor, const struct sql_limits *key, uint64_t row_count);

/* Steps row; sets is_ended after the last. */
static inline void sql_cursor_step(struct sql_cursor *cursor)
{
	cursor->row += cursor->is_descending ? UINT64_MAX : 1;
	cursor->is_ended = cursor->row == cursor->row_end;
}

/* Of any table. A new cursor has no limits, and loses them by widen. NULL: no memory. */
struct sql_cursor *sql_cursor_create(const struct sql_table *table, struct sql_context *context);
void sql_cursor_destroy(struct sql_cursor *cursor); /* NULL is fine */
void sql_cursor_widen(struct sql_cursor *cursor);

/* What the column is compared with; false: no memory. */
bool sql_cursor_narrow(struct sql_cursor *cursor, unsigned column, unsigned op,
		       const struct sql_value *value);

/* begin may be called again. value is NULL on entry. */
struct err *sql_cursor_begin(struct sql_cursor *cursor, bool is_descending);
struct err *sql_cursor_next(struct sql_cursor *cursor);
struct err *sql_cursor_value(struct sql_cursor *cursor, unsigned column, struct sql_value *value);
uint64_t sql_cursor_row_id(const struct sql_cursor *cursor);

/* The table as a CREATE TABLE. */
void sql_table_declare(const struct sql_table *table, struct str *out);

/*
 * The fields that are hidden columns of the table, after its own, at most `room`; returns how many.
 */
size_t sql_fields_list(const struct sql_table *table, const struct field **fields, size_t room);

/*
 * The index-th of them in the cursor's row, which is one of the batch of rows from first on.
 * *fields is made when it is NULL, and is the caller's.
 */
struct err *sql_fields_value(struct sql_fields **fields, struct sql_cursor *cursor, size_t index,
			     uint64_t first, size_t count, struct sql_value *value);
void sql_fields_forget(struct sql_fields *fields);  /* for another batch; NULL is fine */
void sql_fields_destroy(struct sql_fields *fields); /* NULL is fine */

/* Columns of the sums of stacks, of which `what` says whose; in the order of sql_sums. */
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

/* Values; texts must live as long as the context. NULL as text is NULL. */
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

/* NULL if number is none. */
static inline void sql_value_unless(struct sql_value *value, uint64_t number, uint64_t none)
{
	if (number != none)
		sql_value_u64(value, number);
}

void sql_regexes_destroy(struct regex_cache *regexes); /* NULL is fine */

/* A function of SQL with at most SQL_ARGUMENTS_MAX arguments. */
enum { SQL_ARGUMENTS_MAX = 3 };

struct sql_scalar {
	const char *name;
	unsigned argument_count;
	const char *usage; /* "human_bytes(n)" */
	const char *about;
	/*
	 * result is NULL on entry; a text of it lives as long as the context or is *out's, which is
	 * empty on entry. The error is the statement's.
	 */
	struct err *(*call)(struct sql_context *context, const struct sql_value *arguments,
			    struct sql_value *result, struct str *out);
	bool takes_texts; /* arguments are SQL_TEXT, SQL_BLOB with its bytes as text, or SQL_NULL */
};

/* All of them; the last has no name. Those of texts take the place of SQLite's own. */
extern const struct sql_scalar sql_scalars[], sql_text_scalars[];

enum { SQL_TEXT_MAX = 2 << 20 }; /* bytes of a text or a blob */

#endif
