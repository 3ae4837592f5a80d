#include "cli/list_fields.h"

#include <assert.h>

#include "select/fields.h"

static const struct emit_column people_columns[] = {
	{ .key = "name", .left = true },
	{ .key = "type", .left = true },
	{ .key = "of", .left = true },
	{ .key = "doc", .title = "what", .left = true, .elastic = true },
};

static const struct emit_column program_columns[] = {
	{ .key = "name" }, { .key = "type" },	 { .key = "of" },      { .key = "doc" },
	{ .key = "none" }, { .key = "percent" }, { .key = "aliases" },
};

static void emit_field(struct emit *emit, const struct field *field)
{
	emit_row(emit);
	emit_text(emit, "name", field->name);
	emit_text(emit, "type", field_type_word(field->type));
	emit_text(emit, "of", field_scope_word(field->scope));
	emit_text(emit, "doc", field->doc);
	emit_text(emit, "none", field->none);
	emit_text(emit, "percent", field->percent);
	emit_text(emit, "aliases", field->aliases[0] ? field->aliases : NULL);
	emit_end(emit);
}

struct err *list_fields(enum emit_format format, unsigned width, FILE *out)
{
	const bool is_text = format == EMIT_TEXT;
	CLEAN(emit_destroy)
	struct emit *emit =
		emit_create(out, &(struct emit_settings) { .format = format, .width = width });

	assert((unsigned)format <= EMIT_CSV);
	if (!emit)
		return err_nomem();
	emit_table(emit, NULL, is_text ? people_columns : program_columns,
		   is_text ? array_size(people_columns) : array_size(program_columns));
	for (size_t i = 0; i < field_count; i++)
		emit_field(emit, &field_table[i]);
	emit_end(emit);
	return emit_finish(emit);
}
