#include "sql/sql_plan.h"

#include <assert.h>

/* Fraction of rows a constraint leaves: guesses in the right order. */
static const double LEFT_BY_EQUAL = 0.05, LEFT_BY_LIST = 0.2, LEFT_BY_SIDE = 0.25,
		    LEFT_BY_NULL = 0.3, COST_OF_TEST = 0.3;

static const char OP_LETTERS[] = "=lLgGinNI"; /* by enum sql_op */
static const char DESCENDING = 'D';

/* --- choosing ------------------------------------------------------------------------------ */

static int key_column(const struct sql_table *table)
{
	for (size_t i = 0; i < table->column_count && table->rows_per_key == 1; i++) {
		if (table->columns[i].flags & SQL_KEY)
			return (int)i;
	}
	return -1;
}

/*
 * The column of a constraint or order; the row number means the key column. NULL: not ours.
 */
static const struct sql_column *column_of(const struct sql_table *table, int column)
{
	const int number = column == -1 ? key_column(table) : column;

	/* Hidden columns after the table's own are not tested. */
	return number < 0 || (size_t)number >= table->column_count ? NULL : &table->columns[number];
}

static bool is_side(enum sql_op op)
{
	return op == SQL_LT || op == SQL_LE || op == SQL_GT || op == SQL_GE;
}

struct estimate {
	double scanned; /* rows the table scans */
	double left;	/* rows left of them */
	bool is_tested;
};

static void estimate_found(struct estimate *estimate, const struct sql_plan *plan,
			   const struct sql_table *table, const struct sql_column *column,
			   enum sql_op op)
{
	if (is_side(op))
		estimate->scanned *= LEFT_BY_SIDE;
	else if ((op == SQL_EQ || op == SQL_IS) && column->flags & SQL_KEY)
		estimate->scanned = (double)table->rows_per_key;
	else if (op != SQL_NOT_NULL)
		estimate->scanned = (double)plan->row_count / 1000;
}

static void estimate_tested(struct estimate *estimate, enum sql_op op)
{
	estimate->is_tested = true;
	if (op == SQL_EQ || op == SQL_IS)
		estimate->left *= LEFT_BY_EQUAL;
	else if (op == SQL_IN)
		estimate->left *= LEFT_BY_LIST;
	else if (is_side(op))
		estimate->left *= LEFT_BY_SIDE;
	else if (op == SQL_IS_NULL)
		estimate->left *= LEFT_BY_NULL;
}

static void constraint_take(struct sql_plan *plan, struct sql_constraint *constraint,
			    unsigned column, unsigned *argument_count)
{
	constraint->argument = ++*argument_count;
	str_printf(&plan->text, "%c%u",
		   OP_LETTERS[constraint->takes_list ? SQL_IN : constraint->op], column);
}

/* False: the parameter's value is not known yet, so this plan is impossible. */
static bool take_parameter(struct sql_plan *plan, struct sql_constraint *constraint,
			   unsigned column, unsigned *argument_count)
{
	if (constraint->op != SQL_EQ)
		return true;
	if (constraint->is_usable)
		constraint_take(plan, constraint, column, argument_count);
	return constraint->is_usable;
}

/* See sql_limits_narrow(). */
static bool is_exact(const struct sql_column *column, const struct sql_constraint *constraint)
{
	if (column->flags & SQL_NULL_AMID || constraint->takes_list)
		return false;
	return constraint->is_integer || constraint->op == SQL_IS_NULL ||
	       constraint->op == SQL_NOT_NULL;
}

static bool take_constraints(const struct sql_table *table, struct sql_plan *plan,
			     struct estimate *estimate)
{
	unsigned argument_count = 0;

	for (size_t i = 0; i < plan->constraint_count; i++) {
		struct sql_constraint *constraint = &plan->constraints[i];
		const struct sql_column *column = column_of(table, constraint->column);
		const unsigned number = column ? (unsigned)(column - table->columns) : 0;

		constraint->argument = 0;
		constraint->takes_list = false;
		constraint->is_exact = false;
		if (!column)
			continue;
		if (column->flags & SQL_PARAMETER) {
			if (!take_parameter(plan, constraint, number, &argument_count))
				return false;
			continue;
		}
		if (!constraint->is_usable ||
		    !(column->flags & (SQL_KEY | SQL_SORTED | SQL_TESTED)))
			continue;
		/* Lists of keys are faster to look up one by one. */
		constraint->takes_list =
			constraint->is_list && (!(column->flags & SQL_KEY) || table->has_sums);
		constraint->is_exact = table->is_exact && is_exact(column, constraint);
		constraint_take(plan, constraint, number, &argument_count);
		if (column->flags & (SQL_KEY | SQL_SORTED) && !constraint->takes_list)
			estimate_found(estimate, plan, table, column, constraint->op);
		else
			estimate_tested(estimate, constraint->takes_list ? SQL_IN : constraint->op);
		plan->is_unique |= column->flags & SQL_KEY && table->rows_per_key == 1 &&
				   (constraint->op == SQL_EQ || constraint->op == SQL_IS);
	}
	return true;
}

static unsigned order_flags(const struct sql_table *table, const struct sql_order *order)
{
	const struct sql_column *column = column_of(table, order->column);

	return column ? column->flags : 0;
}

/* Rows are sorted by their key, and by columns in key order. */
static bool is_in_order(const struct sql_table *table, const struct sql_plan *plan)
{
	const struct sql_order *orders = plan->orders;

	if (plan->order_count == 0 || !(order_flags(table, &orders[0]) & (SQL_KEY | SQL_SORTED)))
		return false;
	return plan->order_count == 1 ||
	       (plan->order_count == 2 && order_flags(table, &orders[0]) & SQL_SORTED &&
		order_flags(table, &orders[1]) & SQL_KEY &&
		orders[0].is_descending == orders[1].is_descending);
}

bool sql_plan_init(struct sql_plan *plan, uint64_t row_count, size_t constraint_count,
		   size_t order_count)
{
	*plan = (struct sql_plan) { .row_count = row_count,
				    .constraints = calloc(constraint_count + 1,
							  sizeof(*plan->constraints)),
				    .constraint_count = constraint_count,
				    .orders = calloc(order_count + 1, sizeof(*plan->orders)),
				    .order_count = order_count };
	if (plan->constraints && plan->orders)
		return true;
	sql_plan_deinit(plan);
	return false;
}

void sql_plan_deinit(struct sql_plan *plan)
{
	free(plan->constraints);
	free(plan->orders);
	str_deinit(&plan->text);
	*plan = (struct sql_plan) { 0 };
}

/*
 * Sums are made of one scan: so that SQLite has no reason for more, it costs the same whatever is
 * asked.
 */
static void plan_once(struct sql_plan *plan)
{
	plan->is_unique = false;
	plan->rows_expected = plan->row_count < 1000 ? plan->row_count + 1 : 1000;
	plan->cost = (double)plan->row_count + 1;
}

void sql_plan_make(const struct sql_table *table, struct sql_plan *plan)
{
	struct estimate estimate = { .scanned = (double)plan->row_count, .left = 1 };
	double rows;

	assert(plan->constraints && plan->orders);
	plan->is_unique = false;
	plan->is_ordered = !table->has_sums && is_in_order(table, plan);
	plan->is_descending = plan->is_ordered && plan->orders[0].is_descending;
	if (plan->is_descending)
		str_add_char(&plan->text, DESCENDING);
	plan->is_possible = take_constraints(table, plan, &estimate);
	rows = estimate.scanned * estimate.left;
	plan->rows_expected = rows < 1 ? 1 : (uint64_t)rows;
	plan->cost = 1 + rows + (estimate.is_tested ? estimate.scanned * COST_OF_TEST : 0);
	if (table->has_sums)
		plan_once(plan);
}

bool sql_plan_is_descending(const char *text)
{
	return *text == DESCENDING;
}

bool sql_plan_next(const char **text, struct sql_argument *argument_ret)
{
	const char *at = *text + sql_plan_is_descending(*text);
	const char *op = *at ? strchr(OP_LETTERS, *at) : NULL;

	if (!op)
		return false;
	*argument_ret = (struct sql_argument) { .op = (enum sql_op)(op - OP_LETTERS) };
	for (at++; *at >= '0' && *at <= '9'; at++)
		argument_ret->column = argument_ret->column * 10 + (unsigned)(*at - '0');
	*text = at;
	return true;
}
