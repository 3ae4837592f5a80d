/* Statements that are run on the table of sums. */
#include "sql/sql_adapter.h"
#include "sql/sql_rewrite.h"

/* What the program of a statement does with the table of sums. */
struct explained {
	int64_t cursor; /* its number; -1: not opened yet */
	unsigned scans;
};

/* One instruction, a row of EXPLAIN. False: the sums are not for this program. */
static bool explain_one(struct sql *sql, struct sqlite3_stmt *explain, struct explained *explained)
{
	enum { CODE = 1, P1, P2, P3, P4 };
	const struct sql_value code = sql_adapter_value(explain, CODE);
	const struct sql_value p4 = sql_adapter_value(explain, P4);
	const int64_t p1 = sql_adapter_value(explain, P1).integer;

	if (code.kind != SQL_TEXT)
		return false;
	if (strcmp(code.text, "VOpen") == 0 && p4.kind == SQL_TEXT &&
	    strcmp(p4.text, sql->sums_name) == 0) {
		if (explained->cursor >= 0)
			return false;
		explained->cursor = p1;
	}
	if (explained->cursor < 0 || p1 != explained->cursor)
		return true;
	if (strcmp(code.text, "VFilter") == 0)
		explained->scans++;
	else if (strcmp(code.text, "VColumn") == 0)
		sql_sums_read(&sql->sums, (unsigned)sql_adapter_value(explain, P2).integer);
	return strcmp(code.text, "Rowid") != 0;
}

/*
 * SQLite's own program says what it reads, for nobody else knows which constraints it tests itself.
 * It must scan the table once: not once for each side of an OR, whose rows it tells apart by number.
 */
static bool explain(struct sql *sql, const char *text)
{
	CLEAN(str_deinit) struct str words = { 0 };
	CLEAN(sql_adapter_finalize) struct sqlite3_stmt *statement = NULL;
	struct explained explained = { .cursor = -1 };
	enum sql_outcome outcome;
	const char *rest;

	str_add(&words, "EXPLAIN ");
	str_add(&words, text);
	sql->function_count = 0;
	if (words.failed ||
	    sql_adapter_prepare(sql, str_text(&words), &statement, &rest) == SQL_FAILED)
		return false;
	outcome = sql_adapter_step(statement);
	while (outcome == SQL_ROW && explain_one(sql, statement, &explained))
		outcome = sql_adapter_step(statement);
	return outcome == SQL_DONE && explained.cursor >= 0 && explained.scans == 1;
}

static struct sqlite3_stmt *prepare(struct sql *sql, const char *text)
{
	CLEAN(sql_adapter_finalize) struct sqlite3_stmt *statement = NULL;
	const char *rest;
	bool is_fine;

	sql->function_count = 0;
	sql->is_summing = true;
	is_fine = sql_adapter_prepare(sql, text, &statement, &rest) == SQL_DONE && statement &&
		  explain(sql, text);
	sql->is_summing = false;
	sql->sums.adds_in_order = sql->adds_in_order;
	return is_fine ? steal(statement) : NULL;
}

struct sqlite3_stmt *sql_sums_begin(struct sql *sql, const char *text, const char *end,
				    enum sql_outcome *outcome_ret)
{
	CLEAN(str_deinit) struct str words = { 0 };
	CLEAN(sql_adapter_finalize) struct sqlite3_stmt *statement = NULL;
	enum sql_outcome outcome = SQL_FAILED;

	if (sql->is_copying || !sql_rewrite(text, (size_t)(end - text), &words, &sql->sums) ||
	    words.failed)
		return NULL;
	statement = prepare(sql, str_text(&words));
	if (statement) {
		sql->context.sums = &sql->sums;
		sql->context.has_no_sums = false;
		outcome = sql_adapter_step(statement);
	}
	if (!statement || sql->context.has_no_sums) {
		err_destroy(steal(sql->stop));
		return NULL;
	}
	*outcome_ret = outcome;
	return steal(statement);
}
