/* The list of tables, and their descriptions for users. */
#include <assert.h>

#include "select/fields.h"
#include "sql/sql_sums.h"

extern const struct sql_table sql_allocations, sql_calls, sql_frames, sql_functions, sql_groups,
	sql_live_at, sql_mappings, sql_marks, sql_modules, sql_nodes, sql_notes, sql_stacks,
	sql_summary, sql_system, sql_threads, sql_timeline, sql_usage;

const struct sql_table *const sql_tables[] = {
	&sql_allocations, &sql_groups, &sql_functions, &sql_stacks,  &sql_frames,  &sql_live_at,
	&sql_timeline,	  &sql_usage,  &sql_system,    &sql_threads, &sql_modules, &sql_calls,
	&sql_mappings,	  &sql_nodes,  &sql_notes,     &sql_marks,   &sql_summary, NULL,
};

enum { NAME_COLUMNS = 22, EXTRA_MAX = 64 };

static void add_padded(struct str *out, const char *name)
{
	const size_t len = strlen(name);

	str_add(out, name);
	str_add_repeated(out, ' ', len < NAME_COLUMNS ? NAME_COLUMNS - len : 1);
}

static void add_line(struct str *out, const char *indent, const char *name, const char *about)
{
	str_add(out, indent);
	add_padded(out, name);
	str_add(out, about);
	str_add_char(out, '\n');
}

void sql_list_tables(struct str *out)
{
	for (const struct sql_table *const *at = sql_tables; *at; at++)
		add_line(out, "", (*at)->name, (*at)->about);
}

void sql_list_functions(struct str *out)
{
	for (const struct sql_scalar *at = sql_scalars; at->name; at++)
		add_line(out, "", at->usage, at->about);
}

static void add_schema(struct str *out, const struct sql_table *table)
{
	const struct field *extra[EXTRA_MAX];
	const size_t extra_count = sql_fields_list(table, extra, array_size(extra));

	str_printf(out, "%s: %s\n", table->name, table->about);
	for (size_t i = 0; i < table->column_count; i++)
		add_line(out, "  ", table->columns[i].name, table->columns[i].about);
	for (size_t i = 0; i < extra_count; i++)
		add_line(out, "  ", extra[i]->name, extra[i]->doc);
}

void sql_table_declare(const struct sql_table *table, struct str *out)
{
	const struct field *extra[EXTRA_MAX];
	size_t fields;

	assert(table->column_count > 0);
	str_add(out, "CREATE TABLE x(");
	for (size_t i = 0; i < table->column_count; i++) {
		const struct sql_column *column = &table->columns[i];

		/* Parameters have no type: values are kept as given. */
		str_printf(out, "%s\"%s\" %s", i ? ", " : "", column->name,
			   column->flags & SQL_PARAMETER ? "HIDDEN"
			   : column->flags & SQL_TEXTUAL ? "TEXT"
							 : "INTEGER");
	}
	fields = sql_fields_list(table, extra, array_size(extra));
	for (size_t i = 0; i < fields; i++)
		str_printf(out, ", \"%s\" %s HIDDEN", extra[i]->name,
			   extra[i]->type == FIELD_TEXT ? "TEXT" : "INTEGER");
	if (table->has_sums)
		sql_sums_declare(out);
	str_add_char(out, ')');
}

struct err *sql_schema(const char *table, struct str *out)
{
	bool is_found = false;

	assert(out);
	for (const struct sql_table *const *at = sql_tables; *at; at++) {
		if (table && strcmp((*at)->name, table) != 0)
			continue;
		if (is_found)
			str_add_char(out, '\n');
		add_schema(out, *at);
		is_found = true;
	}
	if (!is_found)
		return err_new(ERR_USAGE, "no table '%s'; .tables lists them", table);
	return out->failed ? err_nomem() : NULL;
}
