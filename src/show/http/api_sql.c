/*
 * /api/v1/sql: help for statements: tables and functions as text, and useful examples.
 */
#include "http/call.h"
#include "http/server.h"
#include "sql/sql.h"

struct sql_help {
	const char *schema;
	struct shape_rows examples;
	uint64_t time_limit_ns, memory_limit_bytes;
};

static const struct member example_members[] = {
	MEMBER(struct sql_example, about, TEXT, "what it finds"),
	MEMBER(struct sql_example, text, TEXT, "the statement"),
};
static const struct shape shape_example = SHAPE("SqlExample", struct sql_example, example_members);

static const struct member sql_members[] = {
	MEMBER(struct sql_help, schema, TEXT, "tables and functions, as SQL says them"),
	MEMBER(struct sql_help, examples, ROWS, NULL, .shape = &shape_example),
	MEMBER(struct sql_help, time_limit_ns, NS, "of a statement", .nullable = true),
	MEMBER(struct sql_help, memory_limit_bytes, BYTES, "of a statement"),
};
static const struct shape shape_sql = SHAPE("Sql", struct sql_help, sql_members);

static struct err *find(struct call *call, void *answer)
{
	CLEAN(str_deinit) struct str schema = { 0 };
	struct sql_help *help = answer;
	struct err *err = sql_schema(NULL, &schema);

	if (err)
		return err;
	if (call->server) {
		const struct server_settings *settings = &call->server->settings;

		help->time_limit_ns =
			settings->sql_time_limit_ns ? settings->sql_time_limit_ns : SHAPE_NONE;
		help->memory_limit_bytes = settings->sql_memory_bytes;
	}
	help->schema = arena_strdup(call->arena, str_text(&schema));
	help->examples.items = sql_examples;
	while (sql_examples[help->examples.count].about)
		help->examples.count++;
	return schema.failed || !help->schema ? err_nomem() : NULL;
}

const struct route route_api_sql = {
	.path = "/api/v1/sql",
	.summary = "tables, functions and examples for statements of /api/v1/query",
	.shape = &shape_sql,
	.find = find,
};
