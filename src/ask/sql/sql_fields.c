/*
 * Fields of the filter language beyond the table's columns: hidden columns with the names of the
 * fields, read only if a statement uses them.
 */
#include <assert.h>

#include "select/fields.h"
#include "sql/sql_table.h"

enum { FIELDS_MAX = 64 };

struct sql_fields {
	const struct field *fields[FIELDS_MAX];
	size_t count;
	uint64_t has_values; /* of the batch, by bit */
	uint64_t *values[FIELDS_MAX];
	bool has_batch;
	struct batch batch;
};

/* FIELD_TEXTS have no single value, and the table's own columns take precedence. */
static bool is_extra(const struct field *field, const struct sql_table *table)
{
	for (size_t i = 0; i < table->column_count; i++) {
		if (strcmp(table->columns[i].name, field->name) == 0)
			return false;
	}
	return field->type != FIELD_TEXTS;
}

size_t sql_fields_list(const struct sql_table *table, const struct field **fields, size_t room)
{
	size_t count = 0;

	for (size_t i = 0; i < field_count && table->has_fields && count < room; i++) {
		if (is_extra(&field_table[i], table))
			fields[count++] = &field_table[i];
	}
	assert(count <= room);
	return count;
}

void sql_fields_destroy(struct sql_fields *fields)
{
	for (size_t i = 0; fields && i < FIELDS_MAX; i++)
		free(fields->values[i]);
	free(fields);
}

/* The batch changed: cached values are invalid. */
void sql_fields_forget(struct sql_fields *fields)
{
	if (!fields)
		return;
	fields->has_batch = false;
	fields->has_values = 0;
}

static struct err *facts_of(struct sql_context *context, const struct field *field)
{
	const struct sweep_limits limits = { .deadline_ns = context->deadline_ns,
					     .is_interrupted = context->settings->is_interrupted,
					     .context = context->settings->context };
	struct facts *facts = context->facts;
	struct err *err = NULL;

	if (!facts) {
		facts = arena_new(&context->arena, struct facts);
		err = facts ? facts_init(facts, context->model, context->names, &context->arena)
			    : err_nomem();
		if (err)
			return err;
		facts->suppressor = context->settings->suppressor;
		context->facts = facts;
	}
	facts->limits = &limits;
	err = facts_prepare(facts, field->facts);
	facts->limits = NULL;
	return err;
}

static struct err *read_field(struct sql_fields *fields, struct sql_context *context, size_t index,
			      uint64_t first, size_t count)
{
	const struct field *field = fields->fields[index];
	struct err *err = facts_of(context, field);

	if (err)
		return err;
	if (!fields->values[index])
		fields->values[index] = calloc(MODEL_BATCH, sizeof(uint64_t));
	if (!fields->values[index])
		return err_nomem();
	if (!fields->has_batch)
		batch_rows(&fields->batch, context->facts, first, count);
	fields->has_batch = true;
	field_read(field, &fields->batch, fields->values[index]);
	fields->has_values |= UINT64_C(1) << index;
	return NULL;
}

struct err *sql_fields_values(struct sql_fields **fields_ptr, struct sql_cursor *cursor,
			      size_t index, uint64_t first, size_t count,
			      const uint64_t **values_ret)
{
	struct sql_fields *fields = *fields_ptr;
	struct err *err = NULL;

	assert(index < FIELDS_MAX);
	assert(count <= MODEL_BATCH);
	if (!fields) {
		*fields_ptr = fields = calloc(1, sizeof(*fields));
		if (!fields)
			return err_nomem();
		fields->count = sql_fields_list(cursor->table, fields->fields, FIELDS_MAX);
	}
	if (!(fields->has_values >> index & 1))
		err = read_field(fields, cursor->context, index, first, count);
	if (!err)
		*values_ret = fields->values[index];
	return err;
}

void sql_fields_show(const struct sql_fields *fields, const struct sql_context *context,
		     size_t index, uint64_t number, struct sql_value *value)
{
	if (fields->fields[index]->type == FIELD_TEXT)
		sql_value_text(value, field_text(fields->fields[index], context->facts, number));
	else
		sql_value_unless(value, number, FIELD_NONE);
}

struct err *sql_fields_value(struct sql_fields **fields, struct sql_cursor *cursor, size_t index,
			     uint64_t first, size_t count, struct sql_value *value)
{
	const uint64_t *values;
	struct err *err = sql_fields_values(fields, cursor, index, first, count, &values);

	if (!err)
		sql_fields_show(*fields, cursor->context, index, values[cursor->row - first],
				value);
	return err;
}
