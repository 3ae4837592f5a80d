/* Tables with numbered rows, and what all cursors and functions share. */
#include <assert.h>
#include <time.h>

#include "base/monotonic.h"
#include "space/space.h"
#include "sql/sql_plan.h"

enum { NS_PER_S = 1000000000 };

uint64_t sql_context_rest_ns(const struct sql_context *context)
{
	const uint64_t now = monotonic_ns();

	if (context->deadline_ns == 0)
		return 0;
	return now < context->deadline_ns ? context->deadline_ns - now : 1;
}

struct err *sql_context_check(const struct sql_context *context)
{
	const struct sql_settings *settings = context->settings;

	if (settings->is_interrupted && settings->is_interrupted(settings->context))
		return err_new(ERR_STATE, "interrupted");
	if (context->deadline_ns == 0 || monotonic_ns() < context->deadline_ns)
		return NULL;
	return settings->timeout_option
		       ? err_new(ERR_LIMIT, "stopped at the time limit; %s raises it",
				 settings->timeout_option)
		       : err_new(ERR_LIMIT, "stopped at the time limit");
}

const uint32_t *sql_context_depths(struct sql_context *context)
{
	const struct capture_stack *stacks = model_stacks(context->model);
	const size_t count = model_stack_count(context->model);
	uint32_t *depths = context->depths;

	if (depths)
		return depths;
	depths = arena_array(&context->arena, count, sizeof(*depths));
	for (size_t i = CAPTURE_STACK_FIRST; i < count && depths; i++)
		depths[i] = depths[stacks[i].parent] + 1; /* parents come before */
	context->depths = depths;
	return depths;
}

struct err *sql_context_find_leaks(struct sql_context *context)
{
	struct err *err = NULL;

	if (!context->has_leaks)
		err = suppressor_find(context->settings->suppressor, &context->suppressed);
	context->has_leaks = !err;
	return err;
}

void sql_context_deinit(struct sql_context *context)
{
	space_destroy(context->space);
	sql_regexes_destroy(context->regexes);
	interner_deinit(&context->texts);
	arena_deinit(&context->arena);
}

void sql_cursor_bound(struct sql_cursor *cursor, const struct sql_limits *key, uint64_t row_count)
{
	const bool is_descending = cursor->is_descending;
	const uint64_t first = key->min;
	const uint64_t end = key->max < row_count ? key->max + 1 : row_count;

	assert(end <= row_count);
	cursor->is_ended = first >= end;
	cursor->row = is_descending ? end - 1 : first;
	cursor->row_end = is_descending ? first - 1 : end;
}

static bool is_wanted(const struct sql_cursor *cursor)
{
	const struct sql_table *table = cursor->table;

	return !table->is_row || table->is_row(cursor->context, cursor->row);
}

static void skip_unwanted(struct sql_cursor *cursor)
{
	while (!cursor->is_ended && !is_wanted(cursor))
		sql_cursor_step(cursor);
}

struct sql_cursor *sql_cursor_create(const struct sql_table *table, struct sql_context *context)
{
	struct sql_cursor *cursor =
		calloc(1, table->cursor_bytes ? table->cursor_bytes : sizeof(*cursor));
	struct sql_limits *limits = calloc(table->column_count, sizeof(*limits));

	assert(table->column_count > 0);
	if (!cursor || !limits) {
		free(cursor);
		free(limits);
		return NULL;
	}
	cursor->table = table;
	cursor->context = context;
	cursor->limits = limits;
	sql_cursor_widen(cursor);
	return cursor;
}

void sql_cursor_widen(struct sql_cursor *cursor)
{
	for (size_t i = 0; i < cursor->table->column_count; i++) {
		sql_limits_deinit(&cursor->limits[i]);
		cursor->limits[i] = sql_limits_all();
	}
	cursor->parameter = (struct sql_value) { 0 };
}

/* Copies texts that SQLite may keep. */
static bool take_parameter(struct sql_cursor *cursor, const struct sql_value *value)
{
	struct interner *texts = &cursor->context->texts;
	uint32_t text;

	cursor->parameter = *value;
	if (value->kind != SQL_TEXT)
		return true;
	text = interner_put(texts, value->text, value->bytes);
	if (text == UINT32_MAX)
		return false;
	cursor->parameter.text = texts->texts[text];
	return true;
}

bool sql_cursor_narrow(struct sql_cursor *cursor, unsigned column, unsigned op,
		       const struct sql_value *value)
{
	const struct sql_column *about = &cursor->table->columns[column];

	assert(column < cursor->table->column_count);
	if (about->flags & SQL_PARAMETER)
		return take_parameter(cursor, value);
	sql_limits_narrow(&cursor->limits[column], about, (enum sql_op)op, value);
	return true;
}

void sql_cursor_destroy(struct sql_cursor *cursor)
{
	if (!cursor)
		return;
	if (cursor->table->end)
		cursor->table->end(cursor);
	sql_cursor_widen(cursor);
	free(cursor->limits);
	free(cursor);
}

static void begin_rows(struct sql_cursor *cursor)
{
	const struct sql_table *table = cursor->table;
	struct sql_limits key = sql_limits_all();

	for (size_t i = 0; i < table->column_count; i++) {
		if (table->columns[i].flags & SQL_KEY)
			key = cursor->limits[i];
	}
	sql_cursor_bound(cursor, &key, table->row_count(cursor->context));
	skip_unwanted(cursor);
}

struct err *sql_cursor_begin(struct sql_cursor *cursor, bool is_descending)
{
	const struct sql_table *table = cursor->table;
	struct err *err = table->prepare ? table->prepare(cursor->context) : NULL;

	cursor->is_descending = is_descending;
	if (err)
		return err;
	if (table->begin)
		return table->begin(cursor);
	begin_rows(cursor);
	return NULL;
}

struct err *sql_cursor_next(struct sql_cursor *cursor)
{
	assert(!cursor->is_ended);
	if (cursor->table->next)
		return cursor->table->next(cursor);
	sql_cursor_step(cursor);
	skip_unwanted(cursor);
	return NULL;
}

static struct err *leaks_find(struct sql_cursor *cursor)
{
	const struct sql_table *table = cursor->table;
	struct err *err = sql_context_find_leaks(cursor->context);

	return !err && table->prepare_leaks ? table->prepare_leaks(cursor->context) : err;
}

static struct err *value_of(struct sql_cursor *cursor, unsigned column, struct sql_value *value)
{
	const bool is_own = column < cursor->table->column_count;
	struct err *err = NULL;

	if (is_own && cursor->table->columns[column].flags & SQL_PARAMETER) {
		*value = cursor->parameter;
		return NULL;
	}
	if (is_own && cursor->table->columns[column].flags & SQL_LEAKS)
		err = leaks_find(cursor);
	if (err)
		return err;
	if (cursor->table->value)
		return cursor->table->value(cursor, column, value);
	cursor->table->row_value(cursor->context, cursor->row, column, value);
	return NULL;
}

/*
 * Readers of database text fail on invalid UTF-8, which names may contain. Repaired texts live as
 * long as the context, like all texts.
 */
static struct err *text_repair(struct sql_context *context, struct sql_value *value)
{
	CLEAN(str_deinit) struct str room = { 0 };
	const char *valid = str_utf8(value->text, &room);
	uint32_t place;

	if (valid == value->text)
		return NULL;
	place = room.failed ? UINT32_MAX : interner_put(&context->texts, valid, room.len);
	if (place == UINT32_MAX)
		return err_nomem();
	sql_value_text(value, context->texts.texts[place]);
	return NULL;
}

struct err *sql_cursor_value(struct sql_cursor *cursor, unsigned column, struct sql_value *value)
{
	struct err *err = value_of(cursor, column, value);

	return err || value->kind != SQL_TEXT ? err : text_repair(cursor->context, value);
}

uint64_t sql_cursor_row_id(const struct sql_cursor *cursor)
{
	return cursor->table->row_id ? cursor->table->row_id(cursor) : cursor->row;
}
