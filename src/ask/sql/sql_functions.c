/* Functions and what they and their callees allocated, over all stacks. */
#include "base/map.h"
#include "sql/sql_table.h"
#include "sums/metric.h"
#include "sums/walk.h"

enum { FUNCTION_ID, FUNCTION_NAME, FUNCTION_MODULE, FUNCTION_SUMS };

struct function {
	struct model_stack_sums self;
	struct model_stack_sums total;
	uint32_t name;
};

/* Per function: 4 sums of its own, 4 including callees. */
static const struct sql_column columns[] = {
	[FUNCTION_ID] = { "id", SQL_KEY, 0, "number of the function" },
	[FUNCTION_NAME] = { "function", SQL_TEXTUAL, 0, "its name" },
	[FUNCTION_MODULE] = { "module", SQL_TEXTUAL, 0, "path of the program or library" },
	SQL_SUM_COLUMNS("self_", "allocations whose innermost function it is, machinery of "
				 "allocation aside"),
	SQL_SUM_COLUMNS("", "allocations by it and all that it calls"),
};

VEC_DEFINE(function_vec, struct function);

struct collection {
	struct function_vec functions;
	struct map by_name;  /* index + 1 */
	struct vec_u32 seen; /* by function: the last stack it was counted for, + 1 */
};

static void collection_deinit(struct collection *collection)
{
	function_vec_deinit(&collection->functions);
	map_deinit(&collection->by_name);
	vec_u32_deinit(&collection->seen);
}
CLEAN_DEFINE_DEINIT(collection_deinit, struct collection);

/* Index of the function with this name, added if new; UINT32_MAX: out of memory. */
static uint32_t function_of(struct collection *collection, uint32_t name)
{
	uint64_t *place = map_put(&collection->by_name, name, NULL);

	if (!place)
		return UINT32_MAX;
	if (*place == 0) {
		if (!function_vec_push(&collection->functions,
				       (struct function) { .name = name }) ||
		    !vec_u32_push(&collection->seen, 0))
			return UINT32_MAX;
		*place = collection->functions.count;
	}
	return (uint32_t)*place - 1;
}

static bool add_totals(struct collection *collection, struct sql_context *context, uint32_t stack)
{
	const struct model_stack_sums *sums = sql_context_sums(context, stack);
	struct walk walk = walk_begin(context->model, context->names, stack, WALK_ALL);
	const struct name_frame *frame;

	while ((frame = walk_next(&walk))) {
		const uint32_t index = function_of(collection, frame->name);

		if (index == UINT32_MAX)
			return false;
		if (collection->seen.items[index] == stack + 1) /* recursion */
			continue;
		collection->seen.items[index] = stack + 1;
		metric_sums_add(&collection->functions.items[index].total, sums);
	}
	return true;
}

static bool add_self(struct collection *collection, struct sql_context *context, uint32_t stack)
{
	struct walk walk = walk_begin(context->model, context->names, stack, WALK_MY);
	const struct name_frame *frame = walk_next(&walk);
	const uint32_t index = frame ? function_of(collection, frame->name) : UINT32_MAX;

	if (index == UINT32_MAX)
		return false;
	metric_sums_add(&collection->functions.items[index].self, sql_context_sums(context, stack));
	return true;
}

static struct err *collect(struct collection *collection, struct sql_context *context)
{
	const size_t count = model_stack_count(context->model);

	for (uint32_t stack = 0; stack < count; stack++) {
		struct err *err = NULL;

		if (model_stack_sums(context->model, stack)->allocated.count == 0)
			continue;
		if (!add_totals(collection, context, stack) ||
		    !add_self(collection, context, stack))
			return err_nomem();
		if (stack % 256 == 0)
			err = sql_context_check(context);
		if (err)
			return err;
	}
	return NULL;
}

static struct err *prepare(struct sql_context *context)
{
	CLEAN(collection_deinit) struct collection collection = { 0 };
	struct function *functions;
	struct err *err;

	if (context->functions)
		return NULL;
	err = sql_context_find_leaks(context);
	if (!err)
		err = collect(&collection, context);
	if (err)
		return err;
	functions = arena_array(&context->arena, collection.functions.count, sizeof(*functions));
	if (!functions)
		return err_nomem();
	if (collection.functions.count > 0)
		memcpy(functions, collection.functions.items,
		       collection.functions.count * sizeof(*functions));
	context->functions = functions;
	context->function_count = collection.functions.count;
	return NULL;
}

/* Before they are known: an upper estimate. */
static uint64_t row_count(const struct sql_context *context)
{
	return context->functions ? context->function_count : model_stack_count(context->model) / 4;
}

static void row_value(struct sql_context *context, uint64_t row, unsigned column,
		      struct sql_value *value)
{
	const struct function *function = &((const struct function *)context->functions)[row];
	const struct name *name = names_get(context->names, function->name);

	if (column == FUNCTION_ID)
		sql_value_u64(value, row);
	else if (column == FUNCTION_NAME)
		sql_value_text(value, name->function);
	else if (column == FUNCTION_MODULE)
		sql_value_text(value, name->module[0] ? name->module : NULL);
	else
		sql_value_u64(value,
			      metric_value(sql_sums[(column - FUNCTION_SUMS) % SQL_SUMS],
					   column < FUNCTION_SUMS + SQL_SUMS ? &function->self
									     : &function->total));
}

const struct sql_table sql_functions = {
	.name = "functions",
	.about = "functions, and what was allocated by them",
	.columns = columns,
	.column_count = array_size(columns),
	.rows_per_key = 1,
	.row_count = row_count,
	.prepare = prepare,
	.row_value = row_value,
};
