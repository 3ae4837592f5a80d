/*
 * /api/v1/query: an SQL statement. It is read-only, with limits on time, memory and rows.
 */
#include "http/call.h"
#include "http/server.h"
#include "sql/sql.h"

enum { ROWS_MAX = 1000 };

static const struct param params[] = {
	{ .name = "sql",
	  .kind = PARAM_TEXT,
	  .is_required = true,
	  .doc = "one statement of SQL (memtape-sql(1))" },
	{ .name = "limit",
	  .kind = PARAM_NUMBER,
	  .min = 1,
	  .max = ROWS_MAX,
	  .fallback = ROWS_MAX,
	  .doc = "rows at most",
	  .missing = "1000" },
	{ .name = "pools",
	  .kind = PARAM_FLAG,
	  .doc = "query the objects of the program's own pools instead of the heap" },
};

struct column {
	const char *name;
};

struct result {
	struct shape_rows columns;
	struct shape_cells rows;
	bool truncated;
};

static const struct member column_members[] = {
	MEMBER(struct column, name, TEXT, NULL),
};
static const struct shape shape_column = SHAPE("SqlColumn", struct column, column_members);

static const struct member result_members[] = {
	MEMBER(struct result, columns, ROWS, NULL, .shape = &shape_column),
	MEMBER(struct result, rows, CELLS, "a list a row; a BLOB is hexadecimal digits"),
	MEMBER(struct result, truncated, FLAG, "whether there are more rows"),
};
static const struct shape shape_result = SHAPE("SqlResult", struct result, result_members);

VEC_DEFINE(cell_vec, struct shape_cell);

struct output {
	struct call *call;
	uint64_t limit;
	size_t column_count;
	uint64_t row_count;
	struct column *columns; /* NULL: no statement yet */
	struct cell_vec cells;
	bool is_truncated;
};

static struct err *begin(void *context, const struct sql_head *heads, size_t count)
{
	struct output *output = context;
	struct arena *arena = output->call->arena;

	if (output->columns)
		return err_new(ERR_USAGE, "expected one statement");
	output->columns = arena_array(arena, count, sizeof(*output->columns));
	output->column_count = count;
	for (size_t i = 0; output->columns && i < count; i++) {
		output->columns[i].name = arena_strdup(arena, heads[i].name);
		if (!output->columns[i].name)
			return err_nomem();
	}
	return output->columns ? NULL : err_nomem();
}

static const char *hex_digits(const struct sql_value *value, struct arena *arena)
{
	CLEAN(str_deinit) struct str hex = { 0 };

	for (size_t i = 0; i < value->bytes; i++)
		str_printf(&hex, "%02x", (unsigned char)value->text[i]);
	return hex.failed ? NULL : arena_strdup(arena, str_text(&hex));
}

/* The text is NULL only if out of memory, or without a value. */
static struct shape_cell cell_of(const struct sql_value *value, struct arena *arena)
{
	switch (value->kind) {
	case SQL_NULL:
		break;
	case SQL_INTEGER:
		return (struct shape_cell) {
			.text = arena_printf(arena, "%lld", (long long)value->integer),
			.is_number = true,
		};
	case SQL_REAL: /* JSON cannot represent infinity */
		return (struct shape_cell) {
			.text = value->real - value->real == 0 ? arena_strdup(arena, value->text)
				: value->real > 0	       ? "9e999"
							       : "-9e999",
			.is_number = true,
		};
	case SQL_TEXT:
		return (struct shape_cell) { .text = arena_strdup(arena, value->text) };
	case SQL_BLOB:
		return (struct shape_cell) { .text = hex_digits(value, arena) };
	}
	return (struct shape_cell) { 0 };
}

static struct err *row(void *context, const struct sql_value *values)
{
	struct output *output = context;

	if (output->row_count == output->limit) {
		output->is_truncated = true;
		return err_new(ERR_LIMIT, "enough rows");
	}
	output->row_count++;
	for (size_t i = 0; i < output->column_count; i++) {
		const struct shape_cell cell = cell_of(&values[i], output->call->arena);

		if ((!cell.text && values[i].kind != SQL_NULL) ||
		    !cell_vec_push(&output->cells, cell))
			return err_nomem();
	}
	return NULL;
}

static struct err *end(void *context)
{
	(void)context;
	return NULL;
}

static bool is_cancelled(void *context)
{
	const struct call *call = context;

	return call->limits.cancel && __atomic_load_n(call->limits.cancel, __ATOMIC_RELAXED);
}

static struct err *statement_run(struct call *call, struct names *names, struct output *output)
{
	const struct sql_settings settings = {
		.memory_bytes = call->server->settings.sql_memory_bytes,
		.timeout_ns = call_time_left_ns(call),
		.memory_option = "`memtape serve --memory`",
		.timeout_option = "`memtape serve --sql-timeout`",
		.suppressor = &call->loaded->suppressor,
		.stays_in_memory = true,
		.is_interrupted = is_cancelled,
		.context = call,
	};
	const struct sql_sink sink = { begin, row, end, output };
	CLEAN(sql_destroy) struct sql *sql = NULL;
	struct err *err = sql_create(call->model, names, &settings, &sql);

	return err ? err : sql_run(sql, call_text(call, "sql"), 1, &sink);
}

/*
 * One statement at a time: the memory limit is shared by all that run. Its time limit starts when
 * its turn comes, so that a statement that uses all of its time does not take it from the next.
 */
static struct err *wait_for_turn(struct call *call)
{
	struct timespec pause = { .tv_nsec = 10000000 };
	const uint64_t left_ns = call_time_left_ns(call);
	struct err *err = NULL;

	while (!err && pthread_mutex_trylock(&call->server->sql_lock) != 0) {
		nanosleep(&pause, NULL);
		err = call_check(call);
	}
	if (call->limits.deadline_ns)
		call->limits.deadline_ns += left_ns - call_time_left_ns(call);
	return err;
}

static struct err *statement_ask(struct call *call, struct output *output)
{
	CLEAN(names_destroy) struct names *names = NULL;
	struct err *err = call_names_view(call, &names);

	if (!err)
		err = wait_for_turn(call);
	if (err)
		return err;
	err = statement_run(call, names, output);
	pthread_mutex_unlock(&call->server->sql_lock);
	if (err && output->is_truncated) {
		err_destroy(err);
		err = NULL;
	}
	if (!err && !output->columns)
		err = err_new(ERR_USAGE, "expected a statement");
	return call_blame(call, "sql", err);
}

static void output_end(void *ends)
{
	struct output *output = ends;

	cell_vec_deinit(&output->cells);
}

static struct err *find(struct call *call, void *answer)
{
	struct output *output = arena_new(call->arena, struct output);
	struct err *err;

	if (!output)
		return err_nomem();
	*output = (struct output) { .call = call, .limit = call_number(call, "limit") };
	call_at_end(call, output_end, output);
	err = statement_ask(call, output);
	*(struct result *)answer = (struct result) {
		.columns = { .items = output->columns, .count = output->column_count },
		.rows = { output->cells.items, output->row_count, output->column_count },
		.truncated = output->is_truncated,
	};
	return err;
}

const struct route route_api_query = {
	.path = "/api/v1/query",
	.summary = "a statement of SQL, which can change nothing",
	.shape = &shape_result,
	.flags = ROUTE_TAPE | ROUTE_POST | ROUTE_UNCACHED | ROUTE_SQL,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
