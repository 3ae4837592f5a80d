#include "sql/sql.h"

#include <assert.h>
#include <strings.h>
#include <time.h>

#include "base/monotonic.h"
#include "sql/sql_adapter.h"

enum { NS_PER_S = 1000000000 };

struct err *sql_create(const struct model *model, struct names *names,
		       const struct sql_settings *settings, struct sql **sql_ret)
{
	CLEAN(sql_destroy) struct sql *sql = calloc(1, sizeof(*sql));
	struct err *err;

	assert(model && names && settings);
	if (!sql)
		return err_nomem();
	sql->settings = *settings;
	sql->context =
		(struct sql_context) { .model = model, .names = names, .settings = &sql->settings };
	err = sql_adapter_open(sql);
	if (err)
		return err;
	*sql_ret = steal(sql);
	return NULL;
}

void sql_destroy(struct sql *sql)
{
	if (!sql)
		return;
	sql_adapter_close(sql);
	err_destroy(sql->stop);
	sql_context_deinit(&sql->context);
	free(sql);
}

/* --- what is allowed ----------------------------------------------------------------------- */

/*
 * SQLite checks the clock between rows. The functions one row may call are therefore limited: each
 * takes some milliseconds with the longest text allowed.
 */
enum { FUNCTIONS_MAX = 500 };

bool sql_function_is_allowed(struct sql *sql, const char *name)
{
	/* json_patch compares every name with all others, without a time check. */
	static const char *const never[] = { "load_extension", "json_patch", "fts3_tokenizer" };

	assert(name);
	for (size_t i = 0; i < array_size(never); i++) {
		if (strcasecmp(never[i], name) != 0)
			continue;
		if (!sql->stop)
			sql->stop = err_new(ERR_USAGE, "%s() is not allowed", never[i]);
		return false;
	}
	sql->function_count++;
	if (sql->function_count <= FUNCTIONS_MAX)
		return true;
	if (!sql->stop)
		sql->stop =
			err_new(ERR_LIMIT, "a statement calls at most %d functions", FUNCTIONS_MAX);
	return false;
}

size_t sql_names_count(void)
{
	const struct sql_scalar *const lists[] = { sql_scalars, sql_text_scalars };
	size_t count = 1; /* the table of sums */

	for (size_t i = 0; sql_tables[i]; i++)
		count++;
	for (size_t i = 0; i < array_size(lists); i++) {
		for (const struct sql_scalar *at = lists[i]; at->name; at++)
			count++;
	}
	return count;
}

/* --- errors -------------------------------------------------------------------------------- */

/* Position of a text within the whole, for error messages. */
struct place {
	uint64_t line;
	uint64_t column; /* characters, from 1 */
};

static struct place place_of(const char *whole, const char *at, uint64_t first_line)
{
	struct place place = { first_line, 1 };

	for (const char *c = whole; c < at && *c; c++) {
		if (*c == '\n')
			place = (struct place) { place.line + 1, 1 };
		else
			place.column += (*c & 0xc0) != 0x80;
	}
	return place;
}

static const char *skip_space(const char *text)
{
	return text + strspn(text, " \t\r\n\f;");
}

/* With the limit and what raises it. */
static struct err *memory_failure(const struct sql_settings *settings)
{
	char bytes[STR_SHORT_BYTES];

	str_iec(bytes, settings->memory_bytes);
	return settings->memory_option
		       ? err_new(ERR_LIMIT,
				 "stopped: it needs more memory than %s; %s raises that limit",
				 bytes, settings->memory_option)
		       : err_new(ERR_LIMIT, "stopped: it needs more memory than %s", bytes);
}

/* The error for a failed statement. */
static struct err *failure(struct sql *sql, const char *whole, const char *statement,
			   uint64_t first_line)
{
	struct err *stop = steal(sql->stop);
	enum err_code code;
	struct place place;
	const char *words;
	int offset;

	if (stop && err_code_of(stop) != ERR_USAGE)
		return stop;
	words = sql_adapter_error(sql, &code, &offset);
	if (!stop && code == ERR_NOMEM)
		return sql->settings.memory_bytes ? memory_failure(&sql->settings) : err_nomem();
	if (!stop && code != ERR_USAGE)
		return err_new(code, "%s", words);
	place = place_of(whole, offset >= 0 ? statement + offset : skip_space(statement),
			 first_line);
	if (!stop)
		stop = err_new(code, "%s", words);
	return err_wrap(stop, "line %llu, column %llu", (unsigned long long)place.line,
			(unsigned long long)place.column);
}

/* --- running ------------------------------------------------------------------------------- */

static void set_deadline(struct sql *sql)
{
	sql->context.deadline_ns = 0;
	if (sql->settings.timeout_ns == 0)
		return;
	sql->context.deadline_ns = monotonic_ns() + sql->settings.timeout_ns;
}

static struct err *begin_rows(struct sqlite3_stmt *statement, struct sqlite3_stmt *named,
			      bool has_row, const struct sql_sink *sink)
{
	const size_t count = sql_adapter_column_count(statement);
	CLEAN(free) struct sql_head *heads = calloc(count + 1, sizeof(*heads));

	if (!heads)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		heads[i] = sql_adapter_head(named, i);
		heads[i].is_text |= has_row && sql_adapter_value(statement, i).kind == SQL_TEXT;
		if (!heads[i].name)
			return err_nomem();
	}
	return sink->begin(sink->context, heads, count);
}

static struct err *send_row(struct sqlite3_stmt *statement, struct sql_value *values, size_t count,
			    const struct sql_sink *sink)
{
	for (size_t i = 0; i < count; i++)
		values[i] = sql_adapter_value(statement, i);
	return sink->row(sink->context, values);
}

/*
 * Sends all rows, after the first step, with the names of another statement; *failed_ret: SQLite
 * failed, and the error is NULL.
 */
static struct err *send_rows(struct sqlite3_stmt *statement, struct sqlite3_stmt *named,
			     enum sql_outcome outcome, const struct sql_sink *sink,
			     bool *failed_ret)
{
	const size_t count = sql_adapter_column_count(statement);
	CLEAN(free) struct sql_value *values = calloc(count + 1, sizeof(*values));
	struct err *err = NULL;

	*failed_ret = outcome == SQL_FAILED;
	if (*failed_ret)
		return NULL;
	if (!values)
		return err_nomem();
	err = begin_rows(statement, named, outcome == SQL_ROW, sink);
	while (!err && outcome == SQL_ROW) {
		err = send_row(statement, values, count, sink);
		if (!err)
			outcome = sql_adapter_step(statement);
	}
	*failed_ret = !err && outcome == SQL_FAILED;
	return err || *failed_ret ? err : sink->end(sink->context);
}

static struct err *run_one(struct sql *sql, const char *text, bool *failed_ret,
			   const char **rest_ret, const struct sql_sink *sink)
{
	CLEAN(sql_adapter_finalize) struct sqlite3_stmt *statement = NULL;
	CLEAN(sql_adapter_finalize) struct sqlite3_stmt *sums_statement = NULL;
	enum sql_outcome outcome;

	set_deadline(sql);
	sql->function_count = 0;
	sql->context.sums = NULL;
	sql->is_summed = false;
	*failed_ret = sql_adapter_prepare(sql, text, &statement, rest_ret) == SQL_FAILED;
	if (*failed_ret || !statement)
		return NULL;
	sums_statement = sql_sums_begin(sql, text, *rest_ret, &outcome);
	sql->is_summed = sums_statement;
	if (!sums_statement)
		outcome = sql_adapter_step(statement);
	return send_rows(sums_statement ? sums_statement : statement, statement, outcome, sink,
			 failed_ret);
}

struct err *sql_run(struct sql *sql, const char *text, uint64_t first_line,
		    const struct sql_sink *sink)
{
	const char *at = text;

	assert(sink->begin && sink->row && sink->end);
	while (*at) {
		const char *rest = at;
		bool failed = false;
		struct err *err = run_one(sql, at, &failed, &rest, sink);

		if (failed)
			err = failure(sql, text, at, first_line);
		if (err)
			return err;
		at = rest;
	}
	return NULL;
}
