/*
 * Copies the tables to a database for other programs: ordinary tables, with indices. The statements
 * are ours, so they may write; untrusted ones never run on such a connection.
 */
#include "sql/sql.h"

#include "sql/sql_adapter.h"

/* The file is not used before it is complete, so it need not survive a crash. */
static const char begin[] = "PRAGMA copy.journal_mode = MEMORY;\n"
			    "PRAGMA copy.synchronous = OFF;\n";

/* For rows that other tables refer to by number. */
static const char indices[] = "CREATE UNIQUE INDEX copy.allocations_id ON allocations(id);\n"
			      "CREATE INDEX copy.allocations_stack ON allocations(stack);\n"
			      "CREATE INDEX copy.places_function ON places(function);\n"
			      "CREATE INDEX copy.stack_places_place ON stack_places(place);\n"
			      "CREATE INDEX copy.groups_stack ON groups(stack);\n";

/*
 * A place in the code is on many stacks, and its names are long: it is stored once; frames is a
 * view that joins places and stacks.
 */
static const char frames[] =
	"CREATE TABLE copy.places(id INTEGER PRIMARY KEY, function TEXT, file TEXT, line INTEGER, "
	"module TEXT, inlined INTEGER, role TEXT, address INTEGER);\n"
	"INSERT INTO copy.places(function, file, line, module, inlined, role, address) "
	"SELECT DISTINCT function, file, line, module, inlined, role, address FROM main.frames;\n"
	"CREATE INDEX copy.places_address ON places(address);\n"
	"CREATE TABLE copy.stack_places(stack INTEGER, position INTEGER, place INTEGER, "
	"PRIMARY KEY(stack, position)) WITHOUT ROWID;\n"
	"INSERT INTO copy.stack_places SELECT f.stack, f.position, p.id FROM main.frames AS f "
	"CROSS JOIN copy.places AS p ON p.address IS f.address AND p.function IS f.function "
	"AND p.file IS f.file AND p.line IS f.line AND p.module IS f.module "
	"AND p.inlined IS f.inlined AND p.role IS f.role;\n"
	"DROP INDEX copy.places_address;\n"
	"CREATE VIEW copy.frames AS SELECT stack, position, function, file, line, module, inlined, "
	"role, address FROM stack_places JOIN places ON places.id = stack_places.place;\n";

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

/* The virtual tables are in the main database; the copies in the other. */
static void add_tables(struct str *text)
{
	for (const struct sql_table *const *at = sql_tables; *at; at++) {
		const char *name = (*at)->name;

		if (strcmp(name, "frames") == 0)
			str_add(text, frames);
		else if (strcmp(name, "live_at") != 0)
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

struct err *sql_copy(const struct model *model, struct names *names, struct suppressor *suppressor,
		     const char *path)
{
	const struct sql_sink nowhere = { ignore_heads, ignore_row, ignore_end, NULL };
	CLEAN(sql_destroy) struct sql *sql = calloc(1, sizeof(*sql));
	CLEAN(str_deinit) struct str text = { 0 };
	struct err *err;

	if (!sql)
		return err_nomem();
	sql->is_copying = true;
	sql->settings.suppressor = suppressor;
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
