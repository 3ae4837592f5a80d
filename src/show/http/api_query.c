/*
 * /api/v1/query: a statement of SQL. Nothing can be changed, and it has limits of time, memory and
 * rows.
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
};

struct output {
	struct call *call;
	uint64_t limit;
	uint64_t row_count;
	size_t column_count;
	bool has_begun;
	bool is_truncated;
};

static struct err *begin(void *context, const struct sql_head *heads, size_t count)
{
	struct output *output = context;
	struct emit *emit = output->call->emit;

	if (output->has_begun)
		return err_new(ERR_USAGE, "expected one statement");
	output->has_begun = true;
	output->column_count = count;
	emit_list(emit, "columns");
	for (size_t i = 0; i < count; i++) {
		emit_object(emit, NULL);
		emit_text(emit, "name", heads[i].name);
		emit_end(emit);
	}
	emit_end(emit);
	emit_list(emit, "rows");
	return NULL;
}

static void emit_value(struct emit *emit, const struct sql_value *value)
{
	CLEAN(str_deinit) struct str hex = { 0 };

	switch (value->kind) {
	case SQL_NULL:
		emit_null(emit, NULL);
		break;
	case SQL_INTEGER:
		emit_i64(emit, NULL, value->integer);
		break;
	case SQL_REAL:
		if (value->real - value->real == 0)
			emit_number(emit, NULL, value->text);
		else /* JSON has no word for infinity */
			emit_number(emit, NULL, value->real > 0 ? "9e999" : "-9e999");
		break;
	case SQL_TEXT:
		emit_text(emit, NULL, value->text);
		break;
	case SQL_BLOB:
		for (size_t i = 0; i < value->bytes; i++)
			str_printf(&hex, "%02x", (unsigned char)value->text[i]);
		emit_text(emit, NULL, str_text(&hex));
		break;
	}
}

static struct err *row(void *context, const struct sql_value *values)
{
	struct output *output = context;
	struct emit *emit = output->call->emit;

	if (output->row_count == output->limit) {
		output->is_truncated = true;
		return err_new(ERR_LIMIT, "enough rows");
	}
	output->row_count++;
	emit_list(emit, NULL);
	for (size_t i = 0; i < output->column_count; i++)
		emit_value(emit, &values[i]);
	emit_end(emit);
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
 * One statement at a time: the limit of memory is for all that run. Its own time begins when it is
 * its turn, so that one that takes all of it does not take it from the next.
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

static struct err *run(struct call *call)
{
	struct output output = { .call = call, .limit = call_number(call, "limit") };
	CLEAN(names_destroy) struct names *names = NULL;
	struct err *err = call_names_view(call, &names);

	if (!err)
		err = wait_for_turn(call);
	if (err)
		return err;
	err = statement_run(call, names, &output);
	pthread_mutex_unlock(&call->server->sql_lock);
	if (err && output.is_truncated) {
		err_destroy(err);
		err = NULL;
	}
	if (err)
		return call_blame(call, "sql", err);
	if (!output.has_begun)
		return call_blame(call, "sql", err_new(ERR_USAGE, "expected a statement"));
	emit_end(call->emit);
	emit_bool(call->emit, "truncated", output.is_truncated);
	return NULL;
}

const struct route route_api_query = {
	.path = "/api/v1/query",
	.summary = "a statement of SQL, which can change nothing",
	.answer = "Query",
	.flags = ROUTE_TAPE | ROUTE_POST | ROUTE_UNCACHED,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
