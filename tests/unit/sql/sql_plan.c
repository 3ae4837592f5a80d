#include "../test.h"

#include "sql/sql_plan.h"

/* --- limits --------------------------------------------------------------------------------- */

static const struct sql_column plain = { "plain", SQL_TESTED, 0, "" };
static const struct sql_column nullable = { "nullable", SQL_TESTED | SQL_NULLABLE, UINT64_MAX, "" };

static struct sql_value integer(int64_t number)
{
	struct sql_value value = { 0 };

	sql_value_i64(&value, number);
	return value;
}

static struct sql_value real(double number)
{
	return (struct sql_value) { .kind = SQL_REAL, .real = number };
}

static void comparisons_leave_what_they_say(void **state)
{
	static const uint64_t top = UINT64_MAX;
	static const struct {
		enum sql_op op;
		int64_t value;
		uint64_t min, max;
	} rows[] = {
		{ SQL_EQ, 5, 5, 5 },
		{ SQL_IS, 5, 5, 5 },
		{ SQL_LT, 5, 0, 4 },
		{ SQL_LE, 5, 0, 5 },
		{ SQL_GT, 5, 6, top },
		{ SQL_GE, 5, 5, top },
		{ SQL_EQ, 0, 0, 0 },
		{ SQL_LE, 0, 0, 0 },
		{ SQL_GE, 0, 0, top },
		{ SQL_GT, -1, 0, top },
		{ SQL_GE, -5, 0, top },
		{ SQL_GT, INT64_MIN, 0, top },
		{ SQL_LE, INT64_MAX, 0, top },
		{ SQL_LT, INT64_MAX, 0, INT64_MAX - 1 },
		{ SQL_EQ, INT64_MAX, INT64_MAX, top }, /* as larger ones show */
		{ SQL_GE, INT64_MAX, INT64_MAX, top },
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct sql_limits limits = sql_limits_all();
		const struct sql_value value = integer(rows[i].value);

		sql_limits_narrow(&limits, &plain, rows[i].op, &value);
		assert_int_equal(limits.min, rows[i].min);
		assert_int_equal(limits.max, rows[i].max);
	}
}

static void impossible_comparisons_leave_nothing(void **state)
{
	static const struct {
		enum sql_op op;
		int64_t value;
	} rows[] = { { SQL_EQ, -1 },
		     { SQL_LT, 0 },
		     { SQL_LE, -1 },
		     { SQL_GT, INT64_MAX },
		     { SQL_LT, INT64_MIN } };
	const struct sql_value null = { 0 };
	struct sql_limits limits = sql_limits_all();

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		const struct sql_value value = integer(rows[i].value);

		limits = sql_limits_all();
		sql_limits_narrow(&limits, &plain, rows[i].op, &value);
		assert_true(limits.min > limits.max);
	}
	limits = sql_limits_all();
	sql_limits_narrow(&limits, &nullable, SQL_LT, &null);
	assert_true(limits.min > limits.max);
	limits = sql_limits_all();
	sql_limits_narrow(&limits, &plain, SQL_IS_NULL, &null);
	assert_true(limits.min > limits.max);
}

static void null_is_a_value_of_its_own(void **state)
{
	const struct sql_value null = { 0 }, five = integer(5);
	struct sql_limits limits = sql_limits_all();

	(void)state;
	sql_limits_narrow(&limits, &nullable, SQL_IS_NULL, &null);
	assert_int_equal(limits.min, UINT64_MAX);
	limits = sql_limits_all();
	sql_limits_narrow(&limits, &nullable, SQL_IS, &null);
	assert_int_equal(limits.min, UINT64_MAX);
	limits = sql_limits_all();
	sql_limits_narrow(&limits, &nullable, SQL_NOT_NULL, &null);
	assert_int_equal(limits.max, UINT64_MAX - 1);
	limits = sql_limits_all();
	sql_limits_narrow(&limits, &nullable, SQL_GE, &five);
	assert_int_equal(limits.min, 5);
	assert_int_equal(limits.max, UINT64_MAX - 1);
}

static void fractions_leave_at_least_what_they_should(void **state)
{
	static const double numbers[] = { -1e30, -2.5, -0.5, 0, 0.5, 2, 2.5, 1e15, 0x1p62, 1e30 };
	static const enum sql_op ops[] = { SQL_EQ, SQL_LT, SQL_LE, SQL_GT, SQL_GE };

	(void)state;
	for (size_t i = 0; i < array_size(numbers) * array_size(ops); i++) {
		const double number = numbers[i / array_size(ops)];
		const enum sql_op op = ops[i % array_size(ops)];
		const struct sql_value value = real(number);
		struct sql_limits limits = sql_limits_all();

		sql_limits_narrow(&limits, &plain, op, &value);
		for (uint64_t row = 0; row < 6; row++) {
			const double x = (double)row;
			const bool is_in = op == SQL_EQ	  ? x == number
					   : op == SQL_LT ? x < number
					   : op == SQL_LE ? x <= number
					   : op == SQL_GT ? x > number
							  : x >= number;

			assert_true(!is_in || sql_limits_allow(&limits, row));
		}
	}
}

static void sets_hold_what_was_put_in(void **state)
{
	static const uint64_t spans[] = { 1, UINT64_C(1) << 40 }; /* bits, search */

	(void)state;
	for (size_t i = 0; i < array_size(spans); i++) {
		struct sql_limits limits = sql_limits_all();
		struct vec_u64 values = { 0 };

		for (uint64_t n = 0; n < 100; n++) {
			const struct sql_value value = integer((int64_t)(n * 7 % 31 * spans[i]));

			assert_true(sql_set_add(&values, &value));
		}
		sql_limits_take_set(&limits, &values);
		assert_int_equal(limits.set.count, 31);
		assert_int_equal(limits.set.bits != NULL, i == 0);
		for (uint64_t n = 0; n < 40; n++)
			assert_int_equal(sql_limits_allow(&limits, n * spans[i]), n < 31);
		assert_int_equal(sql_limits_allow(&limits, spans[i] / 2), i == 0);
		assert_false(sql_limits_allow(&limits, 31 * spans[i]));
		sql_limits_deinit(&limits);
	}
}

static void an_empty_set_leaves_nothing(void **state)
{
	struct sql_limits limits = sql_limits_all();
	struct vec_u64 values = { 0 };
	const struct sql_value null = { 0 }, negative = integer(-3);
	struct sql_value text = { 0 };

	(void)state;
	sql_value_text(&text, "5");
	assert_true(sql_set_add(&values, &null));
	assert_true(sql_set_add(&values, &negative));
	assert_false(sql_set_add(&values, &text)); /* could be 5, says SQLite */
	sql_limits_take_set(&limits, &values);
	assert_false(sql_limits_allow(&limits, 0));
	assert_false(sql_limits_allow(&limits, UINT64_MAX));
}

/* --- plans ---------------------------------------------------------------------------------- */

enum { ID, TIME, SIZE, TEXT, WHEN };

static const struct sql_column columns[] = {
	[ID] = { "id", SQL_KEY, 0, "" },	   [TIME] = { "time", SQL_SORTED, 0, "" },
	[SIZE] = { "size", SQL_TESTED, 0, "" },	   [TEXT] = { "text", SQL_TEXTUAL, 0, "" },
	[WHEN] = { "when", SQL_PARAMETER, 0, "" },
};

static const struct sql_table table = {
	.name = "table",
	.columns = columns,
	.column_count = array_size(columns),
	.rows_per_key = 1,
};

static struct sql_plan plan_of(struct sql_constraint constraint)
{
	struct sql_plan plan;

	assert_true(sql_plan_init(&plan, 1000000, 1, 0));
	plan.constraints[0] = constraint;
	sql_plan_make(&table, &plan);
	return plan;
}

static double cost_of(int column, enum sql_op op, bool is_usable)
{
	CLEAN(sql_plan_deinit)
	struct sql_plan plan = plan_of(
		(struct sql_constraint) { .column = column, .op = op, .is_usable = is_usable });

	return plan.cost;
}

static void a_lookup_is_cheaper_than_a_range_and_that_than_a_scan(void **state)
{
	const double scan = cost_of(TEXT, SQL_EQ, true), test = cost_of(SIZE, SQL_EQ, true);

	(void)state;
	assert_true(cost_of(ID, SQL_EQ, true) < 10);
	assert_true(cost_of(-1, SQL_EQ, true) < 10);
	assert_true(cost_of(ID, SQL_EQ, true) < cost_of(TIME, SQL_EQ, true));
	assert_true(cost_of(TIME, SQL_EQ, true) < cost_of(TIME, SQL_GT, true));
	assert_true(cost_of(TIME, SQL_GT, true) < scan);
	assert_true(test < scan);
	assert_true(test > cost_of(TIME, SQL_EQ, true));
	assert_true(cost_of(ID, SQL_EQ, false) == scan);
	assert_true(cost_of(SQL_NO_COLUMN, SQL_EQ, true) == scan);
}

static void arguments_come_back_from_the_text(void **state)
{
	struct sql_plan plan;
	struct sql_argument argument;
	const char *text;

	(void)state;
	assert_true(sql_plan_init(&plan, 1000, 4, 1));
	plan.constraints[0] = (struct sql_constraint) { SIZE, SQL_EQ, true, true, 0, false };
	plan.constraints[1] = (struct sql_constraint) { TEXT, SQL_EQ, true, false, 0, false };
	plan.constraints[2] = (struct sql_constraint) { ID, SQL_EQ, true, true, 0, false };
	plan.constraints[3] = (struct sql_constraint) { TIME, SQL_GE, true, false, 0, false };
	plan.orders[0] = (struct sql_order) { TIME, true };
	sql_plan_make(&table, &plan);
	assert_true(plan.is_possible && plan.is_ordered && plan.is_descending && plan.is_unique);
	assert_true(plan.constraints[0].takes_list);
	assert_false(plan.constraints[2].takes_list); /* looked up one by one */
	assert_int_equal(plan.constraints[1].argument, 0);
	assert_int_equal(plan.constraints[3].argument, 3);
	text = str_text(&plan.text);
	assert_true(sql_plan_is_descending(text));
	assert_true(sql_plan_next(&text, &argument));
	assert_true(argument.column == SIZE && argument.op == SQL_IN);
	assert_true(sql_plan_next(&text, &argument));
	assert_true(argument.column == ID && argument.op == SQL_EQ);
	assert_true(sql_plan_next(&text, &argument));
	assert_true(argument.column == TIME && argument.op == SQL_GE);
	assert_false(sql_plan_next(&text, &argument));
	sql_plan_deinit(&plan);
}

static void a_parameter_must_be_known(void **state)
{
	CLEAN(sql_plan_deinit)
	struct sql_plan known = plan_of(
		(struct sql_constraint) { .column = WHEN, .op = SQL_EQ, .is_usable = true });
	CLEAN(sql_plan_deinit)
	struct sql_plan unknown = plan_of((struct sql_constraint) { .column = WHEN, .op = SQL_EQ });

	(void)state;
	assert_true(known.is_possible);
	assert_int_equal(known.constraints[0].argument, 1);
	assert_false(unknown.is_possible);
}

static void only_orders_that_rows_have_are_promised(void **state)
{
	static const struct {
		struct sql_order orders[2];
		size_t count;
		bool is_ordered;
	} rows[] = {
		{ { { ID, false } }, 1, true },
		{ { { ID, true } }, 1, true },
		{ { { -1, true } }, 1, true },
		{ { { TIME, true } }, 1, true },
		{ { { TIME, false }, { ID, false } }, 2, true },
		{ { { TIME, true }, { ID, false } }, 2, false },
		{ { { TIME, false }, { SIZE, false } }, 2, false },
		{ { { SIZE, false } }, 1, false },
		{ { { TEXT, false } }, 1, false },
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct sql_plan plan;

		assert_true(sql_plan_init(&plan, 1000, 0, rows[i].count));
		memcpy(plan.orders, rows[i].orders, rows[i].count * sizeof(*plan.orders));
		sql_plan_make(&table, &plan);
		assert_int_equal(plan.is_ordered, rows[i].is_ordered);
		sql_plan_deinit(&plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comparisons_leave_what_they_say),
		cmocka_unit_test(impossible_comparisons_leave_nothing),
		cmocka_unit_test(null_is_a_value_of_its_own),
		cmocka_unit_test(fractions_leave_at_least_what_they_should),
		cmocka_unit_test(sets_hold_what_was_put_in),
		cmocka_unit_test(an_empty_set_leaves_nothing),
		cmocka_unit_test(a_lookup_is_cheaper_than_a_range_and_that_than_a_scan),
		cmocka_unit_test(arguments_come_back_from_the_text),
		cmocka_unit_test(a_parameter_must_be_known),
		cmocka_unit_test(only_orders_that_rows_have_are_promised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
