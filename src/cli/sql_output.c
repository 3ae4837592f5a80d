#include "cli/sql_output.h"

#include <assert.h>

#include "base/str.h"

/* Object members need distinct names; the second "id" is "id:2". NULL: out of memory. */
static const char *unique_name(struct sql_output *output, const char *name, size_t index)
{
	unsigned count = 1;
	const char *unique = arena_strdup(&output->arena, name);

	for (size_t i = 0; i < index && unique; i++) {
		if (strcmp(output->columns[i].key, unique) != 0)
			continue;
		unique = arena_printf(&output->arena, "%s:%u", name, ++count);
		i = (size_t)-1; /* start over */
	}
	return unique;
}

static struct err *make_columns(struct sql_output *output, const struct sql_head *heads,
				size_t count)
{
	output->columns = arena_array(&output->arena, count, sizeof(*output->columns));
	output->column_count = count;
	if (!output->columns)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const char *name = unique_name(output, heads[i].name, i);

		if (!name)
			return err_nomem();
		output->columns[i] = (struct emit_column) { .key = name,
							    .title = name,
							    .left = heads[i].is_text,
							    .elastic = heads[i].is_text };
	}
	return NULL;
}

static struct err *begin(void *context, const struct sql_head *heads, size_t count)
{
	struct sql_output *output = context;
	struct err *err;

	sql_output_reset(output);
	err = make_columns(output, heads, count);
	if (err)
		return err;
	if (output->has_written && output->settings.format != EMIT_JSON)
		fputc('\n', output->out);
	output->has_written = true;
	output->emit = emit_create(output->out, &output->settings);
	if (!output->emit)
		return err_nomem();
	emit_table(output->emit, NULL, output->columns, count);
	return NULL;
}

static void emit_real(struct emit *emit, const char *key, const struct sql_value *value)
{
	const bool is_finite = value->real - value->real == 0;

	if (is_finite || emit_format_of(emit) != EMIT_JSON)
		emit_number(emit, key, value->text);
	else
		emit_number(emit, key, value->real > 0 ? "9e999" : "-9e999");
}

static void emit_blob(struct emit *emit, const char *key, const struct sql_value *value)
{
	CLEAN(str_deinit) struct str text = { 0 };

	for (size_t i = 0; i < value->bytes; i++)
		str_printf(&text, "%02x", (unsigned char)value->text[i]);
	emit_text(emit, key, str_text(&text));
}

static void emit_value(struct emit *emit, const char *key, const struct sql_value *value)
{
	switch (value->kind) {
	case SQL_NULL:
		emit_null(emit, key);
		break;
	case SQL_INTEGER:
		emit_i64(emit, key, value->integer);
		break;
	case SQL_REAL:
		emit_real(emit, key, value);
		break;
	case SQL_TEXT:
		emit_text(emit, key, value->text);
		break;
	case SQL_BLOB:
		emit_blob(emit, key, value);
		break;
	}
}

static struct err *row(void *context, const struct sql_value *values)
{
	struct sql_output *output = context;

	emit_row(output->emit);
	for (size_t i = 0; i < output->column_count; i++)
		emit_value(output->emit, output->columns[i].key, &values[i]);
	emit_end(output->emit);
	if (emit_has_failed(output->emit))
		return err_new(ERR_SYSTEM, "the answer could not be written");
	return NULL;
}

static struct err *end(void *context)
{
	struct sql_output *output = context;
	struct err *err;

	emit_end(output->emit);
	err = emit_finish(output->emit);
	sql_output_reset(output);
	return err;
}

struct sql_sink sql_output_sink(struct sql_output *output)
{
	return (struct sql_sink) { begin, row, end, output };
}

void sql_output_reset(struct sql_output *output)
{
	assert(output->columns || output->column_count == 0);
	emit_destroy(output->emit);
	output->emit = NULL;
	arena_deinit(&output->arena);
	output->columns = NULL;
	output->column_count = 0;
}

void sql_output_deinit(struct sql_output *output)
{
	sql_output_reset(output);
}
