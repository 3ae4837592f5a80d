/* Tables by stack: the stacks themselves, what each allocated, and what was alive at a moment. */
#include "select/moment.h"
#include "sql/sql_table.h"

static uint64_t stack_count(const struct sql_context *context)
{
	return model_stack_count(context->model);
}

/* --- stacks -------------------------------------------------------------------------------- */

enum { STACK_ID, STACK_PARENT, STACK_DEPTH, STACK_ADDRESS, STACK_MODULE };

static const struct sql_column stack_columns[] = {
	{ "id", SQL_KEY, 0, "number of the stack" },
	{ "parent", 0, 0, "the stack without its innermost address: stacks.id" },
	{ "depth", 0, 0, "addresses on it" },
	{ "address", 0, 0, "the innermost: where a call returns to" },
	{ "module", 0, 0, "that the address is in: modules.id" },
};

static struct err *stacks_prepare(struct sql_context *context)
{
	return sql_context_depths(context) ? NULL : err_nomem();
}

static void stack_value(struct sql_context *context, uint64_t row, unsigned column,
			struct sql_value *value)
{
	const struct capture_stack *stack = &model_stacks(context->model)[row];

	if (column == STACK_ID)
		sql_value_u64(value, row);
	else if (column == STACK_DEPTH)
		sql_value_u64(value, sql_context_depths(context)[row]);
	else if (row < CAPTURE_STACK_FIRST)
		return;
	else if (column == STACK_PARENT)
		sql_value_u64(value, stack->parent);
	else if (column == STACK_ADDRESS)
		sql_value_u64(value, stack->pc);
	else
		sql_value_unless(value, stack->module, CAPTURE_MODULE_NONE);
}

const struct sql_table sql_stacks = {
	.name = "stacks",
	.about = "every call stack; 0, 1 and 2 stand for an empty one, outer frames that are not "
		 "known, and none taken",
	.columns = stack_columns,
	.column_count = array_size(stack_columns),
	.rows_per_key = 1,
	.row_count = stack_count,
	.prepare = stacks_prepare,
	.row_value = stack_value,
};

const enum metric sql_sums[SQL_SUMS] = {
	METRIC_COUNT,	     METRIC_ALLOCATED, METRIC_PEAK_COUNT, METRIC_PEAK,
	METRIC_LEAKED_COUNT, METRIC_LEAKED,    METRIC_TEMPORARY,  METRIC_TEMPORARY_BYTES,
};

/* --- groups -------------------------------------------------------------------------------- */

static const struct sql_column group_columns[] = {
	{ "stack", SQL_KEY, 0, "stacks.id" },
	SQL_SUM_COLUMNS("", "allocations"),
};

static bool group_is_row(const struct sql_context *context, uint64_t row)
{
	return model_stack_sums(context->model, row)->allocated.count > 0;
}

static void group_value(struct sql_context *context, uint64_t row, unsigned column,
			struct sql_value *value)
{
	if (column == 0)
		sql_value_u64(value, row);
	else
		sql_value_u64(value,
			      metric_value(sql_sums[column - 1], sql_context_sums(context, row)));
}

const struct sql_table sql_groups = {
	.name = "groups",
	.about = "sums of the allocations with exactly this stack",
	.columns = group_columns,
	.column_count = array_size(group_columns),
	.rows_per_key = 1,
	.row_count = stack_count,
	.is_row = group_is_row,
	.row_value = group_value,
};

/* --- live_at ------------------------------------------------------------------------------- */

enum {
	LIVE_STACK,
	LIVE_COUNT,
	LIVE_BYTES,
	LIVE_ALLOCATED_COUNT,
	LIVE_ALLOCATED_BYTES,
	LIVE_FREED_COUNT,
	LIVE_FREED_BYTES,
	LIVE_TEMPORARY_COUNT,
	LIVE_MOMENT
};

static const struct sql_column live_columns[] = {
	[LIVE_STACK] = { "stack", SQL_KEY, 0, "stacks.id" },
	[LIVE_COUNT] = { "live_count", 0, 0, "blocks alive then" },
	[LIVE_BYTES] = { "live_bytes", 0, 0, "requested by them" },
	[LIVE_ALLOCATED_COUNT] = { "allocated_count", 0, 0, "allocations until then" },
	[LIVE_ALLOCATED_BYTES] = { "allocated_bytes", 0, 0, "requested by them" },
	[LIVE_FREED_COUNT] = { "freed_count", 0, 0, "of them freed until then" },
	[LIVE_FREED_BYTES] = { "freed_bytes", 0, 0, "requested by those" },
	[LIVE_TEMPORARY_COUNT] = { "temporary_count", 0, 0, "of the freed: temporary" },
	[LIVE_MOMENT] = { "moment", SQL_PARAMETER, 0,
			  "the argument: nanoseconds, or '75%', '1.5s', 'peak', 'mark(NAME)'; the "
			  "end if "
			  "none is given" },
};

struct live_cursor {
	struct sql_cursor base;
	struct model_stack_moment *moments; /* by stack */
	uint64_t ns;			    /* of them */
};

static void live_skip(struct live_cursor *cursor)
{
	while (!cursor->base.is_ended && cursor->moments[cursor->base.row].allocated.count == 0)
		sql_cursor_step(&cursor->base);
}

static struct err *parameter_ns(const struct sql_cursor *base, uint64_t *ns_ret)
{
	const struct sql_value *value = &base->parameter;
	struct moment moment;
	struct err *err;

	if (value->kind == SQL_TEXT) {
		err = moment_parse(value->text, &moment);
		return err ? err : moment_ns(&moment, base->context->model, ns_ret);
	}
	if ((value->kind == SQL_INTEGER && value->integer < 0) ||
	    (value->kind == SQL_REAL && !(value->real >= 0 && value->real < 0x1p63)) ||
	    value->kind == SQL_BLOB)
		return err_new(ERR_USAGE,
			       "live_at() expects a time since the start of the recording");
	*ns_ret = value->kind == SQL_NULL      ? UINT64_MAX - 1
		  : value->kind == SQL_INTEGER ? (uint64_t)value->integer
					       : (uint64_t)value->real;
	return NULL;
}

static struct err *live_begin(struct sql_cursor *base)
{
	struct live_cursor *cursor = (struct live_cursor *)base;
	const struct model *model = base->context->model;
	const size_t count = model_stack_count(model);
	const bool is_new = !cursor->moments;
	uint64_t ns = 0;
	struct err *err = parameter_ns(base, &ns);

	if (err)
		return err;
	if (is_new)
		cursor->moments = calloc(count, sizeof(*cursor->moments));
	if (!cursor->moments)
		return err_nomem();
	if (is_new || cursor->ns != ns)
		model_stack_moments(model, ns + 1, cursor->moments); /* inclusive */
	cursor->ns = ns;
	sql_cursor_bound(base, &base->limits[LIVE_STACK], count);
	live_skip(cursor);
	return NULL;
}

static struct err *live_next(struct sql_cursor *base)
{
	sql_cursor_step(base);
	live_skip((struct live_cursor *)base);
	return NULL;
}

static struct err *live_value(struct sql_cursor *base, unsigned column, struct sql_value *value)
{
	const struct live_cursor *cursor = (const struct live_cursor *)base;
	const struct model_stack_moment *moment = &cursor->moments[base->row];
	const uint64_t values[] = {
		[LIVE_STACK] = base->row,
		[LIVE_COUNT] = moment->allocated.count - moment->freed.count,
		[LIVE_BYTES] = moment->allocated.bytes - moment->freed.bytes,
		[LIVE_ALLOCATED_COUNT] = moment->allocated.count,
		[LIVE_ALLOCATED_BYTES] = moment->allocated.bytes,
		[LIVE_FREED_COUNT] = moment->freed.count,
		[LIVE_FREED_BYTES] = moment->freed.bytes,
		[LIVE_TEMPORARY_COUNT] = moment->temporary.count,
	};

	sql_value_u64(value, values[column]);
	return NULL;
}

static void live_end(struct sql_cursor *base)
{
	free(((struct live_cursor *)base)->moments);
}

const struct sql_table sql_live_at = {
	.name = "live_at",
	.about = "live_at(moment): what each stack had done by then",
	.columns = live_columns,
	.column_count = array_size(live_columns),
	.rows_per_key = 1,
	.row_count = stack_count,
	.cursor_bytes = sizeof(struct live_cursor),
	.begin = live_begin,
	.next = live_next,
	.value = live_value,
	.end = live_end,
};
