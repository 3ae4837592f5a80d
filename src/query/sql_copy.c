/*
 * Tables as they are in a database that others open: ordinary ones, with indices. The statements
 * are ours, so they may write; those of strangers never get at such a connection.
 */
#include "query/sql.h"

#include "query/sql_adapter.h"

/* Nobody reads it before it is whole, so nothing has to survive a crash. */
static const char begin[] = "PRAGMA copy.journal_mode = MEMORY;\n"
			    "PRAGMA copy.synchronous = OFF;\n";

/* Of rows that are looked up by others' numbers. */
static const char indices[] = "CREATE UNIQUE INDEX copy.allocations_id ON allocations(id);\n"
			      "CREATE INDEX copy.allocations_stack ON allocations(stack);\n"
			      "CREATE INDEX copy.frames_stack ON frames(stack);\n"
			      "CREATE INDEX copy.frames_function ON frames(function);\n"
			      "CREATE INDEX copy.groups_stack ON groups(stack);\n";

static void add_attach(struct str *text, const char *path)
{
	str_add(text, "ATTACH '");
	for (const char *at = path; *at; at++) {
		if (*at == '\'')
			str_add_char(text, '\'');
		str_add_char(text, *at);
	}
	str_add(text, "' AS copy;\n");
}

/* The virtual tables are in the main database; what is made is in the other. */
static void add_tables(struct str *text)
{
	for (const struct sql_table *const *at = sql_tables; *at; at++) {
		const char *name = (*at)->name;

		if (strcmp(name, "live_at") != 0)
			str_printf(text, "CREATE TABLE copy.\"%s\" AS SELECT * FROM main.\"%s\";\n",
				   name, name);
	}
}

static struct err *ignore_heads(void *context, const struct sql_head *heads, size_t count)
{
	(void)context;
	(void)heads;
	(void)count;
	return NULL;
}

static struct err *ignore_row(void *context, const struct sql_value *values)
{
	(void)context;
	(void)values;
	return NULL;
}

static struct err *ignore_end(void *context)
{
	(void)context;
	return NULL;
}

struct err *sql_copy(const struct model *model, struct names *names, const char *path)
{
	const struct sql_sink nowhere = { ignore_heads, ignore_row, ignore_end, NULL };
	CLEAN(sql_destroy) struct sql *sql = calloc(1, sizeof(*sql));
	CLEAN(str_deinit) struct str text = { 0 };
	struct err *err;

	if (!sql)
		return err_nomem();
	sql->is_copying = true;
	sql->context =
		(struct sql_context) { .model = model, .names = names, .settings = &sql->settings };
	add_attach(&text, path);
	str_add(&text, begin);
	add_tables(&text);
	str_add(&text, indices);
	err = text.failed ? err_nomem() : sql_adapter_open(sql);
	if (!err)
		err = sql_run(sql, str_text(&text), 1, &nowhere);
	return err ? err_wrap(err, "making a database") : NULL;
}
