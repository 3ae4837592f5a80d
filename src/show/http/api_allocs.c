/*
 * /api/v1/allocs: a page of any list of allocations.
 */
#include "http/api_rows.h"

static struct err *order_find(struct call *call, struct selection_order *order_ret)
{
	const char *sort = call_text(call, "sort");
	struct selection_order order = { 0 };
	struct err *err = sort && *sort ? selection_order_parse(sort, &order) : NULL;

	if (err)
		return call_blame(call, "sort", err);
	if (call_has(call, "order"))
		order.is_descending = call_choice(call, "order") == 1;
	*order_ret = order;
	return NULL;
}

/* --- later pages --------------------------------------------------------------------------- */

/*
 * The first pages of a list are found one by one. Later pages come from a sorted list of all rows,
 * which is made once.
 */
enum { PERMUTE_FROM = 1000, PERMUTE_MAX = 1 << 24 };

struct wanted {
	const struct selection *selection;
	const struct selection_order *order;
};

static struct err *permute(struct call *call, void *context, struct arena *arena,
			   const void **value_ret)
{
	const struct wanted *wanted = context;
	const uint32_t *rows;
	struct err *err = selection_permute(wanted->selection, wanted->order, arena, &rows);

	(void)call;
	if (!err)
		*value_ret = rows;
	return err;
}

static struct err *page_of_all(struct call *call, struct wanted *wanted, uint64_t skip,
			       uint64_t count, const uint64_t **rows_ret, uint64_t *count_ret)
{
	CLEAN(str_deinit) struct str key = { 0 };
	const uint64_t rest = wanted->selection->count - u64_min(skip, wanted->selection->count);
	uint64_t *rows = arena_array(call->arena, count, sizeof(*rows));
	const void *kept;
	struct err *err;

	str_printf(&key, "rows by %s%s of ", wanted->order->is_descending ? "-" : "",
		   wanted->order->field->name);
	call_part_key(call, &key);
	if (!rows || key.failed)
		return err_nomem();
	err = call_keep(call, str_text(&key), permute, wanted, &kept);
	if (err)
		return err;
	count = u64_min(count, rest);
	for (uint64_t i = 0; i < count; i++)
		rows[i] = ((const uint32_t *)kept)[skip + i];
	*rows_ret = rows;
	*count_ret = count;
	return NULL;
}

static struct err *page_find(struct call *call, const struct selection *selection,
			     const struct selection_order *order, const uint64_t **rows_ret,
			     uint64_t *count_ret)
{
	const uint64_t skip = call_number(call, "off"), count = call_number(call, "n");
	struct wanted wanted = { selection, order };
	const bool is_by_time = !order->field || strcmp(order->field->name, "time") == 0;

	if (!is_by_time && skip >= PERMUTE_FROM && selection->count <= PERMUTE_MAX)
		return page_of_all(call, &wanted, skip, count, rows_ret, count_ret);
	return selection_page(selection, order, skip, count, call->arena, rows_ret, count_ret);
}

struct allocs {
	uint64_t count;
	struct shape_rows rows;
};

static const struct member allocs_members[] = {
	MEMBER(struct allocs, count, COUNT, "allocations that are selected"),
	MEMBER(struct allocs, rows, ROWS, "a page of them", .shape = &api_shape_row),
};
static const struct shape shape_allocs = SHAPE("Allocs", struct allocs, allocs_members);

static struct err *find(struct call *call, void *answer)
{
	const struct selection *selection;
	const struct batch *batch = NULL;
	struct selection_order order;
	struct allocs *allocs = answer;
	const uint64_t *rows;
	uint64_t count = 0;
	struct err *err = order_find(call, &order);

	if (!err)
		err = api_select(call, &selection);
	if (!err)
		err = page_find(call, selection, &order, &rows, &count);
	if (!err)
		err = api_rows_read(call, rows, count, &batch);
	if (err)
		return err;
	allocs->count = selection->count;
	return api_rows_fill(call, selection->names, batch, 0, count, &allocs->rows);
}

static const struct param params[] = {
	{ .name = "sort",
	  .kind = PARAM_TEXT,
	  .doc = "a field of the filter language by which rows are in order",
	  .missing = "time" },
	API_PARAM_ORDER,
	API_PARAM_OFF,
	API_PARAM_N,
};

const struct route route_api_allocs = {
	.path = "/api/v1/allocs",
	.summary = "a page of the list of allocations",
	.shape = &shape_allocs,
	.flags = ROUTE_TAPE | ROUTE_SELECTS,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
