/* Compiles an expression to a plan. */
#include <assert.h>

#include "base/sort.h"
#include "base/vec.h"
#include "select/filter_plan.h"
#include "sums/suppress.h"

/* Rough cost per row: reading columns, and computing with them. */
enum { COST_COLUMN = 1, COST_CALCULATED = 3, COST_GATHERED = 20 };

struct plan *plan_new(const struct compiler *compiler, enum plan_kind kind)
{
	struct plan *plan = arena_new(compiler->facts->arena, struct plan);

	if (plan) {
		plan->kind = kind;
		plan->cost = COST_COLUMN;
	}
	return plan;
}

/* --- tests --------------------------------------------------------------------------------- */

static bool has_percent(const struct expr *expr)
{
	for (size_t i = 0; i < expr->item_count; i++) {
		const struct expr_item *item = &expr->items[i];

		if ((item->has_low && item->low.kind == EXPR_PERCENT) ||
		    (item->has_high && item->high.kind == EXPR_PERCENT))
			return true;
	}
	return false;
}

static uint64_t run_ns(const struct compiler *compiler)
{
	return model_process(compiler->facts->model)->duration_ns;
}

/* A number of the stack: evaluated once per stack. */
static struct err *compile_stack_number(struct compiler *compiler, const struct expr *expr,
					struct plan *plan)
{
	const struct field *field = expr->field;
	const struct facts *facts = compiler->facts;
	const bool has_own_whole = field->whole && has_percent(expr);
	struct err *err = compile_ranges(compiler, expr, run_ns(compiler), plan);

	plan->kind = PLAN_STACKS;
	plan->column = MODEL_STACK;
	plan->bit_count = model_stack_count(facts->model);
	plan->bits = arena_array(facts->arena, div_up(plan->bit_count, 64), sizeof(*plan->bits));
	if (!err && !plan->bits)
		err = err_nomem();
	for (uint32_t i = 0; !err && i < plan->bit_count; i++) {
		if (model_stack_sums(facts->model, i)->allocated.count == 0)
			continue;
		if (has_own_whole)
			err = compile_ranges(compiler, expr, field->whole(facts, i), plan);
		if (!err && plan_ranges_have(plan, field->of_stack(facts, i)))
			plan->bits[i / 64] |= UINT64_C(1) << i % 64;
	}
	return err;
}

static bool is_field(const struct expr *expr, const char *name)
{
	return strcmp(expr->field->name, name) == 0;
}

/* "is true". */
static bool wants_true(const struct expr *expr)
{
	return expr->item_count == 1 && !expr->items[0].is_none &&
	       expr->items[0].low.number == expr->items[0].high.number &&
	       expr->items[0].low.number == 1;
}

/* Tests for a free_time, or for none: segments have bounds for it. False: out of memory. */
static bool end_test(const struct compiler *compiler, bool has_one, struct plan *plan)
{
	plan->ranges = arena_new(compiler->facts->arena, struct plan_range);
	if (!plan->ranges)
		return false;
	*plan->ranges = (struct plan_range) { 0, FIELD_NONE - 1 };
	plan->field = field_find("free_time", strlen("free_time"));
	plan->range_count = has_one;
	plan->takes_none = !has_one;
	return true;
}

/* The stacks whose leaks are suppressed, or all others. */
static struct plan *stacks_test(const struct compiler *compiler, bool are_suppressed)
{
	const struct suppressed *suppressed = compiler->facts->suppressed;
	struct plan *plan = plan_new(compiler, PLAN_STACKS);

	if (!plan)
		return NULL;
	plan->column = MODEL_STACK;
	plan->bit_count = model_stack_count(compiler->facts->model);
	plan->bits = arena_array(compiler->facts->arena, div_up(plan->bit_count, 64),
				 sizeof(*plan->bits));
	for (size_t i = 0; plan->bits && i < plan->bit_count; i++) {
		if (suppressed_has(suppressed, i) == are_suppressed)
			plan->bits[i / 64] |= UINT64_C(1) << i % 64;
	}
	return plan->bits ? plan : NULL;
}

/* leaked, suppressed: no free_time, and a stack that is not, or is, suppressed. */
static struct err *compile_leak(struct compiler *compiler, bool is_suppressed, struct plan *end,
				struct plan **plan_ret)
{
	struct plan **parts = arena_array(compiler->facts->arena, 2, sizeof(*parts));
	struct plan *both = plan_new(compiler, PLAN_AND);

	if (!parts || !both || !end_test(compiler, false, end))
		return err_nomem();
	if (!compiler->facts->suppressed) {
		if (is_suppressed)
			end->kind = PLAN_NOTHING;
		return NULL;
	}
	parts[0] = end;
	parts[1] = stacks_test(compiler, is_suppressed);
	if (!parts[1])
		return err_nomem();
	both->parts = parts;
	both->part_count = 2;
	both->cost = 2 * COST_COLUMN;
	*plan_ret = both;
	return NULL;
}

static const struct field *compared_field(const struct expr_value *value, bool has_value)
{
	return has_value && value->kind == EXPR_FIELD ? value->field : NULL;
}

static bool has_fields(const struct expr *expr)
{
	return compared_field(&expr->items[0].low, expr->items[0].has_low) ||
	       compared_field(&expr->items[0].high, expr->items[0].has_high);
}

/* One item with another field as at least one of its bounds. */
static struct err *compile_compare(struct compiler *compiler, const struct expr *expr,
				   struct plan *plan)
{
	const struct expr_item *item = &expr->items[0];
	struct err *err = NULL;
	bool is_empty = false;

	plan->kind = PLAN_COMPARE;
	plan->field = expr->field;
	plan->cost = COST_GATHERED;
	plan->low = compared_field(&item->low, item->has_low);
	plan->high = compared_field(&item->high, item->has_high);
	plan->low_is_open = plan->low && item->low_is_open;
	plan->high_is_open = plan->high && item->high_is_open;
	plan->ranges = arena_new(compiler->facts->arena, struct plan_range);
	if (!plan->ranges)
		return err_nomem();
	err = item_resolve(compiler, item, run_ns(compiler), plan->ranges, &is_empty);
	if (!err && plan->low)
		err = facts_prepare(compiler->facts, plan->low->facts);
	if (!err && plan->high)
		err = facts_prepare(compiler->facts, plan->high->facts);
	return err;
}

static struct err *compile_number(struct compiler *compiler, const struct expr *expr,
				  struct plan **plan_ret)
{
	struct plan *plan = plan_new(compiler, PLAN_RANGES);
	/* Else what was never freed may have a free_time. */
	const bool is_by_end = wants_true(expr) && !model_has_left(compiler->facts->model);

	if (!plan)
		return err_nomem();
	*plan_ret = plan;
	if (is_by_end && (is_field(expr, "leaked") || is_field(expr, "suppressed")))
		return compile_leak(compiler, is_field(expr, "suppressed"), plan, plan_ret);
	if (is_by_end && is_field(expr, "freed"))
		return end_test(compiler, true, plan) ? NULL : err_nomem();
	if (has_fields(expr))
		return compile_compare(compiler, expr, plan);
	if (expr->field->of_stack)
		return compile_stack_number(compiler, expr, plan);
	plan->field = expr->field;
	plan->cost = expr->field->column ? COST_COLUMN : COST_CALCULATED;
	if ((expr->field->facts & ~(unsigned)FACT_LEAKS) || strstr(expr->field->name, "_size") ||
	    strncmp(expr->field->name, "chain_", strlen("chain_")) == 0)
		plan->cost = COST_GATHERED;
	return compile_ranges(compiler, expr, run_ns(compiler), plan);
}

/* --- and, or, not -------------------------------------------------------------------------- */

static struct err *compile(struct compiler *compiler, const struct expr *expr,
			   struct plan **plan_ret);

/* time <= A and (no free time, or later than B) */
static struct err *compile_alive(struct compiler *compiler, const struct expr *expr,
				 struct plan **plan_ret)
{
	const struct expr_item *item = expr->items;
	struct plan *both = plan_new(compiler, PLAN_AND);
	struct plan *made = plan_new(compiler, PLAN_RANGES);
	struct plan *ended = plan_new(compiler, PLAN_RANGES);
	struct plan **parts = arena_array(compiler->facts->arena, 2, sizeof(*parts));
	struct plan_range *ranges = arena_array(compiler->facts->arena, 2, sizeof(*ranges));
	uint64_t begin = 0, end = 0;
	struct err *err;

	if (!both || !made || !ended || !parts || !ranges)
		return err_nomem();
	err = value_resolve(compiler, &item->low, run_ns(compiler), false, &begin);
	if (!err)
		err = value_resolve(compiler, &item->high, run_ns(compiler), false, &end);
	if (!err && begin > end)
		err = expr_error(compiler->text, item->low.at,
				 "the first moment is later than the second");
	if (err)
		return err;
	ranges[0] = (struct plan_range) { 0, begin };
	ranges[1] = (struct plan_range) { end + 1, FIELD_NONE - 1 };
	made->field = field_find("time", strlen("time"));
	ended->field = field_find("free_time", strlen("free_time"));
	made->ranges = &ranges[0];
	ended->ranges = &ranges[1];
	made->range_count = 1;
	ended->range_count = end + 1 < FIELD_NONE;
	ended->takes_none = true;
	parts[0] = made;
	parts[1] = ended;
	both->parts = parts;
	both->part_count = 2;
	both->cost = 2 * COST_COLUMN;
	*plan_ret = both;
	return NULL;
}

/* Negates constants and bitmaps in place. False: any other plan. */
static bool negate_simple(struct plan *plan)
{
	switch (plan->kind) {
	case PLAN_ALL:
		plan->kind = PLAN_NOTHING;
		return true;
	case PLAN_NOTHING:
		plan->kind = PLAN_ALL;
		return true;
	case PLAN_STACKS:
		for (size_t i = 0; i < div_up(plan->bit_count, 64); i++)
			plan->bits[i] = ~plan->bits[i];
		return true;
	case PLAN_IDS:
		for (size_t i = 0; i < div_up(plan->bit_count, 64); i++)
			plan->bits[i] = ~plan->bits[i];
		plan->takes_none = !plan->takes_none;
		return true;
	case PLAN_AND:
	case PLAN_OR:
	case PLAN_NOT:
	case PLAN_RANGES:
	case PLAN_COMPARE:
		return false;
	}
	return false;
}

static struct err *compile_not(struct compiler *compiler, const struct expr *expr,
			       struct plan **plan_ret)
{
	struct plan **parts = arena_array(compiler->facts->arena, 1, sizeof(*parts));
	struct plan *plan = plan_new(compiler, PLAN_NOT);
	struct err *err;

	if (!parts || !plan)
		return err_nomem();
	err = compile(compiler, expr->parts[0], &parts[0]);
	if (err)
		return err;
	*plan_ret = parts[0];
	if (negate_simple(parts[0]))
		return NULL;
	plan->parts = parts;
	plan->part_count = 1;
	plan->cost = parts[0]->cost;
	*plan_ret = plan;
	return NULL;
}

/* Merges bitmaps over the same stacks. False: not compatible. */
static bool bits_merge(enum plan_kind kind, struct plan *to, const struct plan *from)
{
	if (to->kind != PLAN_STACKS || from->kind != PLAN_STACKS || to->column != from->column)
		return false;
	for (size_t i = 0; i < div_up(to->bit_count, 64); i++) {
		if (kind == PLAN_AND)
			to->bits[i] &= from->bits[i];
		else
			to->bits[i] |= from->bits[i];
	}
	return true;
}

static int cost_compare(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64((*(struct plan *const *)a)->cost, (*(struct plan *const *)b)->cost);
}

/* Adds a part, unless it was merged into another or has no effect. */
static void part_add(struct plan *plan, struct plan *part)
{
	const enum plan_kind neutral = plan->kind == PLAN_AND ? PLAN_ALL : PLAN_NOTHING;

	if (part->kind == neutral)
		return;
	for (size_t i = 0; i < plan->part_count; i++) {
		if (bits_merge(plan->kind, plan->parts[i], part))
			return;
	}
	plan->parts[plan->part_count++] = part;
	plan->cost += part->cost;
}

static struct err *compile_parts(struct compiler *compiler, const struct expr *expr,
				 struct plan **plan_ret)
{
	const enum plan_kind kind = expr->kind == EXPR_AND ? PLAN_AND : PLAN_OR;
	struct plan *plan = plan_new(compiler, kind);

	if (plan)
		plan->parts = arena_array(compiler->facts->arena, expr->part_count,
					  sizeof(struct plan *));
	if (!plan || !plan->parts)
		return err_nomem();
	plan->cost = 0;
	for (size_t i = 0; i < expr->part_count; i++) {
		struct plan *part = NULL;
		struct err *err = compile(compiler, expr->parts[i], &part);

		if (err)
			return err;
		part_add(plan, part);
	}
	if (plan->part_count == 0)
		plan->kind = kind == PLAN_AND ? PLAN_ALL : PLAN_NOTHING;
	if (!sort_stable(plan->parts, plan->part_count, sizeof(struct plan *), cost_compare, NULL))
		return err_nomem();
	*plan_ret = plan->part_count == 1 ? plan->parts[0] : plan;
	return NULL;
}

static struct err *compile_test(struct compiler *compiler, const struct expr *expr,
				struct plan **plan_ret)
{
	const struct field *field = expr->field;
	struct err *err = sweep_check(compiler->limits);

	if (!err)
		err = facts_prepare(compiler->facts, field->facts);
	if (err)
		return err;
	if (field->type == FIELD_TEXT || field->type == FIELD_TEXTS)
		return compile_text(compiler, expr, plan_ret);
	return compile_number(compiler, expr, plan_ret);
}

/* Recursion is as deep as in the parser. */
static struct err *compile(struct compiler *compiler, const struct expr *expr,
			   struct plan **plan_ret)
{
	switch (expr->kind) {
	case EXPR_AND:
	case EXPR_OR:
		return compile_parts(compiler, expr, plan_ret);
	case EXPR_NOT:
		return compile_not(compiler, expr, plan_ret);
	case EXPR_ALL:
		*plan_ret = plan_new(compiler, PLAN_ALL);
		return *plan_ret ? NULL : err_nomem();
	case EXPR_IN:
	case EXPR_MATCH:
		return compile_test(compiler, expr, plan_ret);
	case EXPR_ALIVE:
		return compile_alive(compiler, expr, plan_ret);
	}
	return NULL;
}

struct err *filter_compile(const char *text, const struct expr *expr, struct facts *facts,
			   const struct sweep_limits *limits, struct filter **filter_ret)
{
	struct compiler compiler = { .text = text, .facts = facts, .limits = limits };
	struct filter *filter = arena_new(facts->arena, struct filter);
	struct plan *plan = NULL;
	struct err *err;

	assert(text && expr);
	assert(facts->arena);
	if (!filter)
		return err_nomem();
	err = compile(&compiler, expr, &plan);
	if (err)
		return err;
	filter->facts = facts;
	filter->plan = plan;
	*filter_ret = filter;
	return NULL;
}
