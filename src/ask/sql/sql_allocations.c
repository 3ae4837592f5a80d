/*
 * The table of allocations: rows are read in batches, and only the columns that are tested or
 * returned. Rows outside the limits never reach SQLite; segments whose bounds exclude all rows are
 * not read.
 */
#include "sql/sql_allocations.h"

#include <assert.h>

#include "select/selection.h"

enum { COLUMNS = SQL_ALLOCATIONS_COLUMNS, GATHERED_MAX = 32 };

static_assert(COLUMNS <= 32, "bits of has_values");

struct cursor {
	struct sql_cursor base; /* row: current, or the batch's first; row_end: of the scan */
	uint64_t tested;	/* columns with limits, by bit */
	uint64_t first;		/* of the batch */
	uint32_t count;
	uint32_t at; /* index of the row in chosen */
	uint32_t chosen_count;
	uint32_t has_values;		   /* columns read for this batch, by bit */
	uint64_t *values[COLUMNS];	   /* by row - first; allocated when needed */
	uint16_t chosen[MODEL_BATCH];	   /* rows that pass, as row - first, ascending */
	const struct selection *selection; /* of the parameter; NULL: none */
	struct sql_fields *fields;	   /* NULL until needed */
	const char *filter;		   /* the selection's; owned by the context */
	struct arena arena;		   /* of the selection */
	uint64_t times[MODEL_BATCH];	   /* allocation times, for subtraction; or stacks */
};

/* --- reading ------------------------------------------------------------------------------- */

/* Reads only the chosen rows, if they are few. */
static void model_gather(struct cursor *cursor, enum model_column column, uint64_t *values)
{
	uint64_t rows[GATHERED_MAX], found[GATHERED_MAX];

	for (uint32_t i = 0; i < cursor->chosen_count; i++)
		rows[i] = cursor->first + cursor->chosen[i];
	model_rows_gather(cursor->base.context->model, column, rows, cursor->chosen_count, found);
	for (uint32_t i = 0; i < cursor->chosen_count; i++)
		values[cursor->chosen[i]] = found[i];
}

static void model_read(struct cursor *cursor, enum model_column column, uint64_t *values)
{
	if (cursor->chosen_count <= GATHERED_MAX && cursor->chosen_count < cursor->count / 4)
		model_gather(cursor, column, values);
	else
		model_rows_read(cursor->base.context->model, column, cursor->first, cursor->count,
				values);
}

static void read_lifetimes(struct cursor *cursor, uint64_t *values)
{
	model_read(cursor, MODEL_ALLOC_NS, cursor->times);
	model_read(cursor, MODEL_FREE_NS, values);
	for (uint32_t i = 0; i < cursor->count; i++) {
		if (values[i] != MODEL_NEVER)
			values[i] -= u64_min(values[i], cursor->times[i]);
	}
}

static void read_leaks(struct cursor *cursor, bool suppressed, uint64_t *values)
{
	const struct suppressed *known = cursor->base.context->suppressed;
	uint64_t flags[MODEL_BATCH] = { 0 };

	if (known)
		model_read(cursor, MODEL_STACK, cursor->times);
	if (model_has_left(cursor->base.context->model))
		model_read(cursor, MODEL_FLAGS, flags);
	model_read(cursor, MODEL_FREE_NS, values);
	for (uint32_t at = 0; at < cursor->chosen_count; at++) {
		const uint16_t i = cursor->chosen[at]; /* other rows may not have been read */

		values[i] = model_never_freed(values[i], flags[i]) &&
			    (known && suppressed_has(known, cursor->times[i])) == suppressed;
	}
}

static void read_batch(struct cursor *cursor, unsigned column, uint64_t *values)
{
	const int plain = sql_allocations_model_column(column);

	if (plain >= 0) {
		model_read(cursor, (enum model_column)plain, values);
	} else if (column == COLUMN_ID) {
		for (uint32_t i = 0; i < cursor->count; i++)
			values[i] = cursor->first + i;
	} else if (column == COLUMN_LIFETIME_NS) {
		read_lifetimes(cursor, values);
	} else if (sql_allocations_columns[column].flags & SQL_LEAKS) {
		read_leaks(cursor, column == COLUMN_SUPPRESSED, values);
	} else {
		model_read(cursor, MODEL_FLAGS, values);
		for (uint32_t i = 0; i < cursor->count; i++)
			values[i] = (values[i] & sql_allocations_flag(column)) != 0;
	}
}

/* Can only fail for lack of memory. */
static bool leaks_are_found(struct sql_context *context)
{
	struct err *err = sql_context_find_leaks(context);

	err_destroy(err);
	return !err;
}

/* The batch's values of a column; NULL: no memory. */
static const uint64_t *values_of(struct cursor *cursor, unsigned column)
{
	uint64_t **values = &cursor->values[column];

	if (sql_allocations_columns[column].flags & SQL_LEAKS &&
	    !leaks_are_found(cursor->base.context))
		return NULL;
	if (!*values)
		*values = calloc(MODEL_BATCH, sizeof(**values));
	if (*values && !(cursor->has_values >> column & 1)) {
		read_batch(cursor, column, *values);
		cursor->has_values |= UINT32_C(1) << column;
	}
	return *values;
}

/* --- choosing ------------------------------------------------------------------------------ */

static struct err *choose_by(struct cursor *cursor, unsigned column)
{
	const struct sql_limits *limits = &cursor->base.limits[column];
	const uint64_t *values = values_of(cursor, column);
	uint32_t kept = 0;

	if (!values)
		return err_nomem();
	for (uint32_t i = 0; i < cursor->chosen_count; i++) {
		cursor->chosen[kept] = cursor->chosen[i];
		kept += sql_limits_allow(limits, values[cursor->chosen[i]]);
	}
	cursor->chosen_count = kept;
	return NULL;
}

/* Chooses the rows of the batch that pass the filter. */
static void choose_by_filter(struct cursor *cursor)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < cursor->chosen_count; i++) {
		cursor->chosen[kept] = cursor->chosen[i];
		kept += selection_has(cursor->selection, cursor->first + cursor->chosen[i]);
	}
	cursor->chosen_count = kept;
}

static struct err *choose(struct cursor *cursor)
{
	struct err *err = NULL;

	cursor->has_values = 0;
	sql_fields_forget(cursor->fields);
	cursor->chosen_count = cursor->count;
	for (uint32_t i = 0; i < cursor->count; i++)
		cursor->chosen[i] = (uint16_t)i;
	if (cursor->selection)
		choose_by_filter(cursor);
	for (uint64_t rest = cursor->tested; rest && cursor->chosen_count > 0 && !err;
	     rest &= rest - 1)
		err = choose_by(cursor, (unsigned)__builtin_ctzll(rest));
	return err;
}

/* Whether the bounds of some column exclude the whole segment. */
static bool is_ruled_out(const struct cursor *cursor, uint64_t segment)
{
	for (uint64_t rest = cursor->tested; rest; rest &= rest - 1) {
		const unsigned column = (unsigned)__builtin_ctzll(rest);
		const struct sql_limits *limits = &cursor->base.limits[column];
		const int plain = sql_allocations_model_column(column);
		struct model_bounds bounds;

		if (plain >= 0 &&
		    model_segment_bounds(cursor->base.context->model, (enum model_column)plain,
					 segment, &bounds) &&
		    (bounds.max < limits->min || bounds.min > limits->max))
			return true;
	}
	return false;
}

/* --- going through ------------------------------------------------------------------------- */

/* Upwards: from first to the end of the segment or scan. Downwards: from first to row_end + 1. */
static void batch_up(struct cursor *cursor, uint64_t from)
{
	cursor->first = from;
	cursor->count = (uint32_t)u64_min(MODEL_BATCH, cursor->base.row_end - from);
}

static void batch_down(struct cursor *cursor, uint64_t from)
{
	const uint64_t rest = from - cursor->base.row_end; /* which may be -1 */

	cursor->count = (uint32_t)u64_min(MODEL_BATCH, rest);
	cursor->first = from + 1 - cursor->count;
}

/* The row after this one's segment, or the end of the scan. */
static uint64_t after_segment(const struct cursor *cursor, uint64_t row)
{
	const uint64_t begin = row / MODEL_SEGMENT * MODEL_SEGMENT;
	const uint64_t end = cursor->base.row_end;

	if (!cursor->base.is_descending)
		return u64_min(begin + MODEL_SEGMENT, end);
	return end == UINT64_MAX || begin > end + 1 ? begin - 1 : end;
}

static uint64_t after_batch(const struct cursor *cursor)
{
	return cursor->base.is_descending ? cursor->first - 1 : cursor->first + cursor->count;
}

/* Advances to the next batch, from this row on, with a chosen row. */
static struct err *find_batch(struct cursor *cursor, uint64_t from)
{
	const uint64_t end = cursor->base.row_end;
	struct err *err = NULL;
	uint64_t segment = UINT64_MAX;

	cursor->at = 0;
	cursor->chosen_count = 0;
	while (from != end && !err && cursor->chosen_count == 0) {
		if (from / MODEL_SEGMENT != segment) {
			segment = from / MODEL_SEGMENT;
			err = sql_context_check(cursor->base.context);
			if (!err && is_ruled_out(cursor, segment)) {
				from = after_segment(cursor, from);
				continue;
			}
		}
		if (cursor->base.is_descending)
			batch_down(cursor, from);
		else
			batch_up(cursor, from);
		if (!err)
			err = choose(cursor);
		from = after_batch(cursor);
	}
	cursor->base.is_ended = cursor->chosen_count == 0;
	return err;
}

static void show(struct cursor *cursor)
{
	const uint32_t at =
		cursor->base.is_descending ? cursor->chosen_count - 1 - cursor->at : cursor->at;

	cursor->base.row = cursor->first + cursor->chosen[at];
}

/* Reads all rows once, even if a scan with the same filter is restarted. */
static struct err *select_rows(struct cursor *cursor)
{
	const struct sql_context *context = cursor->base.context;
	const struct selection_settings settings = {
		.filter = cursor->base.parameter.text,
		.suppressor = context->settings->suppressor,
		.ignores_leaks = true,
		.time_limit_ns = sql_context_rest_ns(context),
		.is_interrupted = context->settings->is_interrupted,
		.context = context->settings->context,
	};

	if (cursor->base.parameter.kind != SQL_TEXT && cursor->base.parameter.kind != SQL_NULL)
		return err_new(ERR_USAGE, "allocations() expects a filter as text");
	if (cursor->base.parameter.kind == SQL_NULL) {
		cursor->selection = NULL;
		cursor->filter = NULL;
		return NULL;
	}
	if (cursor->filter == settings.filter)
		return NULL;
	cursor->selection = NULL;
	cursor->filter = NULL;
	arena_deinit(&cursor->arena);
	cursor->filter = settings.filter;
	return selection_make(context->model, context->names, &settings, &cursor->arena,
			      &cursor->selection);
}

static struct err *begin(struct sql_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	const struct model *model = base->context->model;
	const struct sql_limits *times = &base->limits[COLUMN_ALLOC_NS];
	struct sql_limits rows = base->limits[COLUMN_ID];
	struct err *err = select_rows(cursor);

	if (err)
		return err;
	if (times->min > 0)
		rows.min = u64_max(rows.min, model_row_at(model, times->min));
	if (times->max < UINT64_MAX) {
		const uint64_t end = model_row_at(model, times->max + 1);

		if (end == 0 || times->max < times->min)
			rows.min = UINT64_MAX;
		rows.max = u64_min(rows.max, end - 1);
	}
	cursor->tested = 0;
	for (unsigned i = 0; i < COLUMNS; i++) {
		const struct sql_limits *limits = &base->limits[i];
		const bool is_range = limits->min > 0 || limits->max < UINT64_MAX;

		/* A range of a sorted column is already a range of rows. */
		if (limits->set.count > 0 ||
		    (is_range && sql_allocations_columns[i].flags & SQL_TESTED))
			cursor->tested |= UINT64_C(1) << i;
	}
	sql_cursor_bound(base, &rows, model_row_count(model));
	if (base->is_ended)
		return NULL;
	err = find_batch(cursor, base->row);
	if (!err && !base->is_ended)
		show(cursor);
	return err;
}

static struct err *next(struct sql_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	struct err *err = NULL;

	if (++cursor->at >= cursor->chosen_count)
		err = find_batch(cursor, after_batch(cursor));
	if (!err && !base->is_ended)
		show(cursor);
	return err;
}

static struct err *value(struct sql_cursor *base, unsigned column, struct sql_value *value_ret)
{
	struct cursor *cursor = (struct cursor *)base;
	const uint64_t *values;

	if (column >= COLUMNS)
		return sql_fields_value(&cursor->fields, base, column - COLUMNS, cursor->first,
					cursor->count, value_ret);
	values = values_of(cursor, column);
	if (!values)
		return err_nomem();
	sql_allocations_show_own(column, values[base->row - cursor->first], value_ret);
	return NULL;
}

static void finish(struct sql_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	for (unsigned i = 0; i < COLUMNS; i++)
		free(cursor->values[i]);
	sql_fields_destroy(cursor->fields);
	arena_deinit(&cursor->arena);
}

/* --- in batches ---------------------------------------------------------------------------- */

struct sql_batch sql_allocations_batch(const struct sql_cursor *base)
{
	const struct cursor *cursor = (const struct cursor *)base;

	assert(!base->is_ended);
	return (struct sql_batch) { cursor->chosen, cursor->chosen_count };
}

struct err *sql_allocations_next_batch(struct sql_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	struct err *err = find_batch(cursor, after_batch(cursor));

	if (!err && !base->is_ended)
		show(cursor);
	return err;
}

struct err *sql_allocations_values(struct sql_cursor *base, unsigned column,
				   const uint64_t **values_ret)
{
	struct cursor *cursor = (struct cursor *)base;

	if (column >= COLUMNS)
		return sql_fields_values(&cursor->fields, base, column - COLUMNS, cursor->first,
					 cursor->count, values_ret);
	if (sql_allocations_columns[column].flags & SQL_LEAKS) {
		struct err *err = sql_context_find_leaks(base->context);

		if (err)
			return err;
	}
	*values_ret = values_of(cursor, column);
	return *values_ret ? NULL : err_nomem();
}

void sql_allocations_show(const struct sql_cursor *base, unsigned column, uint64_t number,
			  struct sql_value *value_ret)
{
	const struct cursor *cursor = (const struct cursor *)base;

	if (column < COLUMNS)
		sql_allocations_show_own(column, number, value_ret);
	else
		sql_fields_show(cursor->fields, base->context, column - COLUMNS, number, value_ret);
}

static uint64_t row_count(const struct sql_context *context)
{
	return model_row_count(context->model);
}

const struct sql_table sql_allocations = {
	.name = "allocations",
	.about = "every allocation, in the order of time",
	.columns = sql_allocations_columns,
	.column_count = COLUMNS,
	.has_fields = true,
	.is_exact = true,
	.rows_per_key = 1,
	.row_count = row_count,
	.cursor_bytes = sizeof(struct cursor),
	.begin = begin,
	.next = next,
	.value = value,
	.end = finish,
};
