/* Virtual tables, functions and limits in SQLite's terms. */
#include "sql/sql_adapter.h"

#include <assert.h>
#include <limits.h>
#include <sqlite3.h>

#include "sql/sql_plan.h"

/* Steps of SQLite's virtual machine between time checks: few, as each may be a long function. */
enum { PROGRESS_STEPS = 100 };

/* The version that does not just add one real number to the others. */
enum { ADDS_CAREFULLY = 3043000 };

struct sql_link { /* our data of an SQLite table or function */
	struct sql *sql;
	const struct sql_table *table;
	const struct sql_scalar *scalar;
};

struct table {
	sqlite3_vtab base;
	struct sql *sql;
	const struct sql_table *table;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct sql *sql;
	struct sql_cursor *rows;
};

/* --- errors -------------------------------------------------------------------------------- */

/* Takes err, which may be NULL; the first error of a statement is kept until its end. */
static int keep_error(struct sql *sql, struct err *err)
{
	if (!err)
		return SQLITE_OK;
	if (sql->stop)
		err_destroy(err);
	else
		sql->stop = err;
	return SQLITE_ERROR;
}

static int progress(void *context)
{
	struct sql *sql = context;

	return keep_error(sql, sql_context_check(&sql->context)) != SQLITE_OK;
}

/* --- tables -------------------------------------------------------------------------------- */

static int table_connect(sqlite3 *db, void *context, int argc, const char *const *argv,
			 sqlite3_vtab **table_ret, char **message)
{
	const struct sql_link *link = context;
	CLEAN(str_deinit) struct str text = { 0 };
	CLEAN(free) struct table *table = calloc(1, sizeof(*table));
	int rc, column_max;

	(void)argc;
	(void)argv;
	sql_table_declare(link->table, &text);
	if (!table || text.failed)
		return SQLITE_NOMEM;
	column_max = sqlite3_limit(db, SQLITE_LIMIT_COLUMN, -1);
	if (link->table == &sql_sums_table) {
		sqlite3_limit(db, SQLITE_LIMIT_COLUMN, SQL_SUMS_COLUMNS_MAX);
		sqlite3_snprintf(sizeof(link->sql->sums_name), link->sql->sums_name, "vtab:%p",
				 (void *)table);
	}
	link->sql->is_declaring = true;
	rc = sqlite3_declare_vtab(db, str_text(&text));
	link->sql->is_declaring = false;
	sqlite3_limit(db, SQLITE_LIMIT_COLUMN, column_max);
	rc = rc ? rc : sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	if (rc != SQLITE_OK) {
		*message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
		return rc;
	}
	table->sql = link->sql;
	table->table = link->table;
	*table_ret = &steal(table)->base;
	return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *base)
{
	free(base);
	return SQLITE_OK;
}

/* enum sql_op + 1; 0: not supported. */
static const unsigned char ops[256] = {
	[SQLITE_INDEX_CONSTRAINT_EQ] = SQL_EQ + 1,
	[SQLITE_INDEX_CONSTRAINT_LT] = SQL_LT + 1,
	[SQLITE_INDEX_CONSTRAINT_LE] = SQL_LE + 1,
	[SQLITE_INDEX_CONSTRAINT_GT] = SQL_GT + 1,
	[SQLITE_INDEX_CONSTRAINT_GE] = SQL_GE + 1,
	[SQLITE_INDEX_CONSTRAINT_IS] = SQL_IS + 1,
	[SQLITE_INDEX_CONSTRAINT_ISNULL] = SQL_IS_NULL + 1,
	[SQLITE_INDEX_CONSTRAINT_ISNOTNULL] = SQL_NOT_NULL + 1,
};

/* A value that is written in the statement, as an integer. */
static bool is_integer(sqlite3_index_info *info, size_t constraint)
{
	sqlite3_value *value = NULL;

	return sqlite3_vtab_rhs_value(info, (int)constraint, &value) == SQLITE_OK &&
	       sqlite3_value_type(value) == SQLITE_INTEGER;
}

/* Converts SQLite's request to our structs. */
static void plan_read(sqlite3_index_info *info, struct sql_plan *plan)
{
	for (size_t i = 0; i < plan->constraint_count; i++) {
		const struct sqlite3_index_constraint *from = &info->aConstraint[i];
		const bool is_ours = ops[from->op] > 0;

		plan->constraints[i] = (struct sql_constraint) {
			.column = is_ours ? from->iColumn : SQL_NO_COLUMN,
			.op = is_ours ? (enum sql_op)(ops[from->op] - 1) : SQL_EQ,
			.is_usable = from->usable,
			.is_list = from->op == SQLITE_INDEX_CONSTRAINT_EQ &&
				   sqlite3_vtab_in(info, (int)i, -1),
			.is_integer = is_ours && is_integer(info, i),
		};
	}
	for (size_t i = 0; i < plan->order_count; i++)
		plan->orders[i] =
			(struct sql_order) { info->aOrderBy[i].iColumn, info->aOrderBy[i].desc };
}

static int plan_write(sqlite3_index_info *info, const struct sql_plan *plan)
{
	for (size_t i = 0; i < plan->constraint_count; i++) {
		info->aConstraintUsage[i].argvIndex = (int)plan->constraints[i].argument;
		info->aConstraintUsage[i].omit = plan->constraints[i].is_exact;
		if (plan->constraints[i].takes_list)
			sqlite3_vtab_in(info, (int)i, 1);
	}
	info->idxStr = sqlite3_mprintf("%s", str_text(&plan->text));
	info->needToFreeIdxStr = 1;
	info->orderByConsumed = plan->is_ordered;
	info->idxFlags = plan->is_unique ? SQLITE_INDEX_SCAN_UNIQUE : 0;
	info->estimatedCost = plan->cost;
	info->estimatedRows = (sqlite3_int64)plan->rows_expected;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

static int table_plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct table *table = (const struct table *)base;
	const uint64_t row_count = table->table->row_count(&table->sql->context);
	CLEAN(sql_plan_deinit) struct sql_plan plan = { 0 };

	if (!sql_plan_init(&plan, row_count, (size_t)info->nConstraint, (size_t)info->nOrderBy))
		return SQLITE_NOMEM;
	plan_read(info, &plan);
	sql_plan_make(table->table, &plan);
	if (!plan.is_possible)
		return SQLITE_CONSTRAINT;
	return plan.text.failed ? SQLITE_NOMEM : plan_write(info, &plan);
}

/* --- cursors ------------------------------------------------------------------------------- */

static int cursor_close(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	sql_cursor_destroy(cursor->rows);
	free(cursor);
	return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **cursor_ret)
{
	const struct table *table = (const struct table *)base;
	CLEAN(free) struct cursor *cursor = calloc(1, sizeof(*cursor));

	if (!cursor)
		return SQLITE_NOMEM;
	cursor->sql = table->sql;
	cursor->rows = sql_cursor_create(table->table, &table->sql->context);
	if (!cursor->rows)
		return SQLITE_NOMEM;
	*cursor_ret = &steal(cursor)->base;
	return SQLITE_OK;
}

static struct sql_value value_read(sqlite3_value *from)
{
	struct sql_value value = { 0 };

	switch (sqlite3_value_type(from)) {
	case SQLITE_INTEGER:
		sql_value_i64(&value, sqlite3_value_int64(from));
		break;
	case SQLITE_FLOAT:
		value.kind = SQL_REAL;
		value.real = sqlite3_value_double(from);
		break;
	case SQLITE_TEXT:
		sql_value_text(&value, (const char *)sqlite3_value_text(from));
		break;
	case SQLITE_BLOB:
		value.kind = SQL_BLOB;
		value.text = sqlite3_value_blob(from);
	}
	return value;
}

/* If the list is not available it is no limit: SQLite tests it. */
static void narrow_by_list(struct sql_limits *limits, sqlite3_value *list)
{
	CLEAN(vec_u64_deinit) struct vec_u64 values = { 0 };
	sqlite3_value *item = NULL;
	int rc = sqlite3_vtab_in_first(list, &item);

	for (; rc == SQLITE_OK && item; rc = sqlite3_vtab_in_next(list, &item)) {
		const struct sql_value value = value_read(item);

		if (!sql_set_add(&values, &value))
			return;
	}
	if (rc == SQLITE_DONE || rc == SQLITE_OK)
		sql_limits_take_set(limits, &values);
}

static int cursor_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
			 sqlite3_value **argv)
{
	struct cursor *cursor = (struct cursor *)base;
	const bool is_descending = sql_plan_is_descending(text);
	struct sql_argument argument;

	(void)number;
	sql_cursor_widen(cursor->rows);
	for (int i = 0; i < argc && sql_plan_next(&text, &argument); i++) {
		struct sql_limits *limits = &cursor->rows->limits[argument.column];
		struct sql_value value = { 0 };

		if (argument.op == SQL_IN)
			narrow_by_list(limits, argv[i]);
		else
			value = value_read(argv[i]);
		if (!sql_cursor_narrow(cursor->rows, argument.column, argument.op, &value))
			return SQLITE_NOMEM;
	}
	return keep_error(cursor->sql, sql_cursor_begin(cursor->rows, is_descending));
}

static int cursor_next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	return keep_error(cursor->sql, sql_cursor_next(cursor->rows));
}

static int cursor_is_ended(sqlite3_vtab_cursor *base)
{
	return ((const struct cursor *)base)->rows->is_ended;
}

/* Texts of tables live as long as the context: they are not copied. */
static void answer(sqlite3_context *result, const struct sql_value *value,
		   void (*destructor)(void *))
{
	switch (value->kind) {
	case SQL_INTEGER:
		sqlite3_result_int64(result, value->integer);
		break;
	case SQL_REAL:
		sqlite3_result_double(result, value->real);
		break;
	case SQL_TEXT:
		sqlite3_result_text64(result, value->text, value->bytes, destructor, SQLITE_UTF8);
		break;
	case SQL_BLOB:
	case SQL_NULL:
		break;
	}
}

static int cursor_value(sqlite3_vtab_cursor *base, sqlite3_context *result, int number)
{
	struct cursor *cursor = (struct cursor *)base;
	struct sql_value value = { 0 };
	struct err *err = sql_cursor_value(cursor->rows, (unsigned)number, &value);

	answer(result, &value, SQLITE_STATIC);
	return keep_error(cursor->sql, err);
}

static int cursor_row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *row_ret)
{
	*row_ret = (sqlite3_int64)sql_cursor_row_id(((const struct cursor *)base)->rows);
	return SQLITE_OK;
}

/* No xCreate: the tables always exist, and no others can be created. */
static const sqlite3_module module = {
	.iVersion = 1,
	.xConnect = table_connect,
	.xBestIndex = table_plan,
	.xDisconnect = table_disconnect,
	.xOpen = cursor_open,
	.xClose = cursor_close,
	.xFilter = cursor_filter,
	.xNext = cursor_next,
	.xEof = cursor_is_ended,
	.xColumn = cursor_value,
	.xRowid = cursor_row_id,
};

/* --- functions ----------------------------------------------------------------------------- */

/* Reads a value the way SQLite's own text functions do. */
static struct sql_value text_of(sqlite3_value *from)
{
	struct sql_value value = value_read(from);

	if (value.kind == SQL_INTEGER || value.kind == SQL_REAL)
		sql_value_text(&value, (const char *)sqlite3_value_text(from));
	value.bytes = (size_t)sqlite3_value_bytes(from);
	value.text = value.text ? value.text : "";
	return value;
}

static void scalar_call(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const struct sql_link *link = sqlite3_user_data(result);
	struct sql_value arguments[SQL_ARGUMENTS_MAX];
	CLEAN(str_deinit) struct str out = { 0 };
	struct sql_value value = { 0 };
	struct err *err;

	assert(argc <= SQL_ARGUMENTS_MAX);
	for (int i = 0; i < argc; i++)
		arguments[i] = link->scalar->takes_texts ? text_of(argv[i]) : value_read(argv[i]);
	err = link->scalar->call(&link->sql->context, arguments, &value, &out);
	if (!err && out.failed)
		err = err_nomem();
	answer(result, &value, value.text == out.ptr ? SQLITE_TRANSIENT : SQLITE_STATIC);
	if (keep_error(link->sql, err) != SQLITE_OK)
		sqlite3_result_error_code(result, SQLITE_ERROR);
}

/* --- connections --------------------------------------------------------------------------- */

/* Called for every SELECT, column and function of a statement, before it runs. */
static int authorize(void *context, int action, const char *first, const char *second,
		     const char *database, const char *trigger)
{
	struct sql *sql = context;
	bool is_allowed = sql->is_declaring || action == SQLITE_SELECT || action == SQLITE_READ ||
			  action == SQLITE_RECURSIVE;

	/* The table of sums is ours alone. */
	if (action == SQLITE_READ && !sql->is_summing && first &&
	    sqlite3_stricmp(first, SQL_SUMS_NAME) == 0)
		is_allowed = false;
	(void)database;
	(void)trigger;
	if (action == SQLITE_FUNCTION)
		is_allowed = sql_function_is_allowed(sql, second ? second : "");
	return is_allowed && !progress(sql) ? SQLITE_OK : SQLITE_DENY;
}

static void set_limits(struct sql *sql)
{
	static const int limits[][2] = {
		{ SQLITE_LIMIT_LENGTH, SQL_TEXT_MAX }, { SQLITE_LIMIT_SQL_LENGTH, 1 << 20 },
		{ SQLITE_LIMIT_COLUMN, 200 },	       { SQLITE_LIMIT_EXPR_DEPTH, 200 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 50 },  { SQLITE_LIMIT_VDBE_OP, 100000 },
		{ SQLITE_LIMIT_ATTACHED, 0 },
	};
	static const int modes[][2] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
		{ SQLITE_DBCONFIG_DQS_DML, 0 }, /* "name" is an identifier, never a string */
	};

	for (size_t i = 0; i < array_size(limits); i++)
		sqlite3_limit(sql->db, limits[i][0], limits[i][1]);
	for (size_t i = 0; i < array_size(modes); i++)
		sqlite3_db_config(sql->db, modes[i][0], modes[i][1], NULL);
	sqlite3_hard_heap_limit64((sqlite3_int64)u64_min(sql->settings.memory_bytes, INT64_MAX));
	sqlite3_progress_handler(sql->db, PROGRESS_STEPS, progress, sql);
	sqlite3_set_authorizer(sql->db, authorize, sql);
}

static int add_scalars(struct sql *sql, struct sql_link **link, const struct sql_scalar *scalars)
{
	int rc = SQLITE_OK;

	for (; scalars->name && rc == SQLITE_OK; scalars++, (*link)++) {
		**link = (struct sql_link) { .sql = sql, .scalar = scalars };
		rc = sqlite3_create_function_v2(
			sql->db, scalars->name, (int)scalars->argument_count,
			SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, *link, scalar_call,
			NULL, NULL, NULL);
	}
	return rc;
}

static int add_table(struct sql *sql, struct sql_link *link, const struct sql_table *table)
{
	*link = (struct sql_link) { .sql = sql, .table = table };
	return sqlite3_create_module_v2(sql->db, table->name, &module, link, NULL);
}

static int add_all(struct sql *sql)
{
	struct sql_link *link = sql->links;
	int rc = SQLITE_OK;

	for (size_t i = 0; sql_tables[i] && rc == SQLITE_OK; i++, link++)
		rc = add_table(sql, link, sql_tables[i]);
	if (rc == SQLITE_OK)
		rc = add_table(sql, link++, &sql_sums_table);
	rc = rc ? rc : add_scalars(sql, &link, sql_scalars);
	return rc ? rc : add_scalars(sql, &link, sql_text_scalars);
}

struct err *sql_adapter_open(struct sql *sql)
{
	int rc;

	assert(!sql->db && !sql->links);
	sql->links = calloc(sql_names_count(), sizeof(*sql->links));
	if (!sql->links)
		return err_nomem();
	sql->adds_in_order = sqlite3_libversion_number() < ADDS_CAREFULLY;
	rc = sqlite3_open(":memory:", &sql->db);
	if (rc == SQLITE_OK && sql->settings.stays_in_memory)
		rc = sqlite3_exec(sql->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
	rc = rc ? rc : add_all(sql);
	if (rc == SQLITE_OK && !sql->is_copying)
		set_limits(sql);
	return rc ? err_new(ERR_UNSUPPORTED, "SQLite: %s", sqlite3_errstr(rc)) : NULL;
}

void sql_adapter_close(struct sql *sql)
{
	sqlite3_close(sql->db);
	free(sql->links);
}

/* --- statements ---------------------------------------------------------------------------- */

enum sql_outcome sql_adapter_prepare(struct sql *sql, const char *text,
				     struct sqlite3_stmt **statement_ret, const char **rest_ret)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(sql->db, text, -1, &statement, rest_ret) != SQLITE_OK)
		return SQL_FAILED;
	*statement_ret = statement;
	if (!statement || sql->is_copying || sqlite3_stmt_readonly(statement))
		return SQL_DONE;
	keep_error(sql, err_new(ERR_USAGE, "not a SELECT"));
	return SQL_FAILED;
}

void sql_adapter_finalize(struct sqlite3_stmt *statement)
{
	sqlite3_finalize(statement);
}

enum sql_outcome sql_adapter_step(struct sqlite3_stmt *statement)
{
	const int rc = sqlite3_step(statement);

	return rc == SQLITE_ROW ? SQL_ROW : rc == SQLITE_DONE ? SQL_DONE : SQL_FAILED;
}

size_t sql_adapter_column_count(struct sqlite3_stmt *statement)
{
	return (size_t)sqlite3_column_count(statement);
}

struct sql_head sql_adapter_head(struct sqlite3_stmt *statement, size_t column)
{
	const char *type = sqlite3_column_decltype(statement, (int)column);

	assert(column < (size_t)sqlite3_column_count(statement));
	return (struct sql_head) { sqlite3_column_name(statement, (int)column),
				   type && strcmp(type, "TEXT") == 0 };
}

struct sql_value sql_adapter_value(struct sqlite3_stmt *statement, size_t column)
{
	struct sql_value value = value_read(sqlite3_column_value(statement, (int)column));

	if (value.kind == SQL_REAL)
		value.text = (const char *)sqlite3_column_text(statement, (int)column);
	value.bytes = (size_t)sqlite3_column_bytes(statement, (int)column);
	return value;
}

const char *sql_adapter_error(struct sql *sql, enum err_code *code_ret, int *offset_ret)
{
	const int rc = sqlite3_errcode(sql->db);

	*offset_ret = sqlite3_error_offset(sql->db);
	*code_ret = rc == SQLITE_TOOBIG || rc == SQLITE_FULL ? ERR_LIMIT : ERR_USAGE;
	switch (rc) {
	case SQLITE_NOMEM:
		*code_ret = ERR_NOMEM;
		return "out of memory";
	case SQLITE_TOOBIG:
		return "stopped: a text or blob is too long";
	case SQLITE_AUTH:
		return "only SELECT is allowed";
	default:
		return sqlite3_errmsg(sql->db);
	}
}

bool sql_is_complete(const char *text)
{
	return sqlite3_complete(text);
}
