/*
 * /api/v1/sql: what statements can ask: tables and functions as text, and statements worth knowing.
 */
#include "http/call.h"
#include "sql/sql.h"

static struct err *run(struct call *call)
{
	CLEAN(str_deinit) struct str schema = { 0 };
	struct err *err = sql_schema(NULL, &schema);

	if (err)
		return err;
	emit_text(call->emit, "schema", str_text(&schema));
	emit_list(call->emit, "examples");
	for (const struct sql_example *at = sql_examples; at->about; at++) {
		emit_object(call->emit, NULL);
		emit_text(call->emit, "about", at->about);
		emit_text(call->emit, "text", at->text);
		emit_end(call->emit);
	}
	emit_end(call->emit);
	return schema.failed ? err_nomem() : NULL;
}

const struct route route_api_sql = {
	.path = "/api/v1/sql",
	.summary = "tables, functions and examples for statements of /api/v1/query",
	.answer = "Sql",
	.run = run,
};
