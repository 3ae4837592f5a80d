/* Values and ranges of filter expressions, in the unit of their field. */
#include <assert.h>

#include "base/sort.h"
#include "base/number.h"
#include "select/filter_plan.h"

enum { PERCENT_WHOLE = 100 * 1000 };

struct err *value_resolve(const struct compiler *compiler, const struct expr_value *value,
			  uint64_t whole, bool is_up, uint64_t *number_ret)
{
	const struct model *model = compiler->facts->model;

	assert(value->kind != EXPR_MARK || value->text);
	switch (value->kind) {
	case EXPR_PLAIN:
		*number_ret = value->number;
		return NULL;
	case EXPR_PERCENT:
		*number_ret = is_up ? u64_mul_div_up(value->number, whole, PERCENT_WHOLE)
				    : u64_mul_div(value->number, whole, PERCENT_WHOLE);
		return NULL;
	case EXPR_PEAK:
		*number_ret = model_totals(model)->peak_ns;
		return NULL;
	case EXPR_END:
		*number_ret = model_process(model)->duration_ns;
		return NULL;
	case EXPR_FIELD: /* handled by compile_compare */
		*number_ret = is_up ? 0 : FIELD_NONE - 1;
		return NULL;
	case EXPR_MARK:
		if (facts_mark_find(compiler->facts, value->text, number_ret))
			return NULL;
		return expr_error(compiler->text, value->at, "no mark '%.60s' on this tape",
				  value->text);
	}
	return NULL;
}

struct err *filter_moment(const char *text, const struct expr_value *value,
			  const struct facts *facts, uint64_t *ns_ret)
{
	const struct compiler compiler = { .text = text, .facts = (struct facts *)facts };

	assert(value->kind != EXPR_FIELD);
	return value_resolve(&compiler, value, model_process(facts->model)->duration_ns, false,
			     ns_ret);
}

struct err *item_resolve(const struct compiler *compiler, const struct expr_item *item,
			 uint64_t whole, struct plan_range *range, bool *is_empty_ret)
{
	struct err *err = NULL;

	*range = (struct plan_range) { 0, FIELD_NONE - 1 };
	*is_empty_ret = false;
	if (item->has_low)
		err = value_resolve(compiler, &item->low, whole, !item->low_is_open, &range->low);
	if (!err && item->has_high)
		err = value_resolve(compiler, &item->high, whole, item->high_is_open, &range->high);
	if (err)
		return err;
	range->low += item->has_low && item->low_is_open;
	if (item->has_high && item->high_is_open) {
		*is_empty_ret = range->high == 0;
		range->high -= range->high > 0;
	}
	*is_empty_ret |= range->low > range->high;
	return NULL;
}

static int range_compare(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct plan_range *)a)->low,
				((const struct plan_range *)b)->low);
}

/* Merges adjacent ranges. */
static void ranges_join(struct plan *plan)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->range_count; i++) {
		struct plan_range *last = count ? &plan->ranges[count - 1] : NULL;

		if (last && plan->ranges[i].low <= last->high + 1)
			last->high = u64_max(last->high, plan->ranges[i].high);
		else
			plan->ranges[count++] = plan->ranges[i];
	}
	plan->range_count = count;
}

struct err *compile_ranges(const struct compiler *compiler, const struct expr *expr, uint64_t whole,
			   struct plan *plan)
{
	assert(expr->item_count > 0);
	if (!plan->ranges)
		plan->ranges = arena_array(compiler->facts->arena, expr->item_count,
					   sizeof(*plan->ranges));
	plan->range_count = 0;
	if (!plan->ranges)
		return err_nomem();
	for (size_t i = 0; i < expr->item_count; i++) {
		struct plan_range range;
		bool is_empty;
		struct err *err;

		if (expr->items[i].is_none) {
			plan->takes_none = true;
			continue;
		}
		err = item_resolve(compiler, &expr->items[i], whole, &range, &is_empty);
		if (err)
			return err;
		if (!is_empty)
			plan->ranges[plan->range_count++] = range;
	}
	if (!sort_stable(plan->ranges, plan->range_count, sizeof(*plan->ranges), range_compare,
			 NULL))
		return err_nomem();
	ranges_join(plan);
	return NULL;
}

bool plan_ranges_have(const struct plan *plan, uint64_t value)
{
	size_t low = 0, high = plan->range_count;

	if (value == FIELD_NONE)
		return plan->takes_none;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (plan->ranges[middle].high < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low < plan->range_count && plan->ranges[low].low <= value;
}
