#include "../test.h"

#include <math.h>

#include "plot/heat.h"

static struct heat heat_make(struct arena *arena, struct heat_axis x, struct heat_axis y)
{
	struct heat heat = { .x = x, .y = y };

	assert_null(heat_init(&heat, arena));
	return heat;
}

static const struct heat_axis ten = { .step = 1, .count = 10 };

static void values_at_edges_are_in_the_cell_above(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct heat_axis tenths = { .step = 0.1, .count = 10 };
	struct heat heat = heat_make(&arena, ten, tenths);

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		heat_add(&heat, i, i * 0.1);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(heat.counts[i * 10 + i], 1);
}

static void the_greatest_value_is_in_the_last_cell(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct heat heat = heat_make(&arena, ten, ten);

	(void)state;
	heat_add(&heat, 10, 10);
	assert_int_equal(heat.counts[99], 1);
	assert_int_equal(heat.outside, 0);
	heat_add(&heat, 10.1, 5);
	heat_add(&heat, 5, -0.1);
	heat_add(&heat, NAN, 5);
	heat_add(&heat, 5, INFINITY);
	assert_int_equal(heat.outside, 4);
	assert_int_equal(heat.total, 1);
}

static void logarithmic_cells_begin_with_all_that_is_less(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct heat_axis powers = { .min = 1, .step = log(2), .count = 10, .is_log = true };
	struct heat heat = heat_make(&arena, ten, powers);

	(void)state;
	heat_add(&heat, 0, 0);
	heat_add(&heat, 0, 1);
	heat_add(&heat, 0, 2);
	heat_add(&heat, 0, 1024);
	assert_int_equal(heat.counts[0], 2);
	assert_int_equal(heat.counts[10], 1);
	assert_int_equal(heat.counts[90], 1);
	assert_int_equal(heat.column_totals[0], 4);
	assert_int_equal(heat.most, 2);
}

static void endless_fields_are_refused(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct heat heat = { .x = { .step = 1, .count = heat_cells(1e300, 1) }, .y = ten };
	struct err *err = heat_init(&heat, &arena);

	(void)state;
	assert_non_null(err);
	assert_int_equal(err_code_of(err), ERR_LIMIT);
	err_destroy(err);
	assert_int_equal(heat_cells(0, 1), 1);
	assert_int_equal(heat_cells(10, 3), 4);
}

static void one_event_is_seen_beside_a_million(void **state)
{
	(void)state;
	assert_true(heat_share(1, 1, true) == 1);
	assert_true(heat_share(1, 1000000, true) == 0);
	assert_true(heat_share(1000, 1000000, true) > 0.49);
	assert_true(heat_share(1000, 1000000, false) < 0.01);
	assert_true(heat_share(5, 2, true) == 1); /* more than the scale goes */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_at_edges_are_in_the_cell_above),
		cmocka_unit_test(the_greatest_value_is_in_the_last_cell),
		cmocka_unit_test(logarithmic_cells_begin_with_all_that_is_less),
		cmocka_unit_test(endless_fields_are_refused),
		cmocka_unit_test(one_event_is_seen_beside_a_million),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
