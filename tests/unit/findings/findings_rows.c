#include "../test.h"

#include "findings/finding.h"

static const uint64_t durations[] = {
	1,
	2,
	5,
	127,
	128,
	129,
	1000,
	1000000007,
	UINT64_C(1) << 57,
	(UINT64_C(1) << 57) + 1,
	UINT64_MAX - 1,
	UINT64_MAX,
};

static void columns_end_in_order_and_with_the_run(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(durations); i++) {
		assert_int_equal(live_column_end(durations[i], LIVE_COLUMNS - 1), durations[i]);
		for (unsigned column = 1; column < LIVE_COLUMNS; column++)
			assert_true(live_column_end(durations[i], column) >=
				    live_column_end(durations[i], column - 1));
	}
}

static void check(uint64_t duration_ns, uint64_t ns)
{
	const unsigned column = live_column_of(duration_ns, ns);

	assert_in_range(column, 0, LIVE_COLUMNS - 1);
	assert_true(ns <= live_column_end(duration_ns, column) || ns > duration_ns);
	if (column > 0)
		assert_true(ns > live_column_end(duration_ns, column - 1));
}

/* What a filter's alive_at says of a column's end is then what the column has. */
static void a_time_is_in_the_first_column_that_ends_then_or_later(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(durations); i++) {
		for (unsigned column = 0; column < LIVE_COLUMNS; column++) {
			const uint64_t end = live_column_end(durations[i], column);

			check(durations[i], end);
			check(durations[i], end > 0 ? end - 1 : 0);
			check(durations[i], end < UINT64_MAX ? end + 1 : end);
		}
		check(durations[i], 0);
	}
}

static void times_after_the_run_are_in_the_last_column(void **state)
{
	(void)state;
	assert_int_equal(live_column_of(0, 0), LIVE_COLUMNS - 1);
	assert_int_equal(live_column_of(100, 101), LIVE_COLUMNS - 1);
	assert_int_equal(live_column_of(100, UINT64_MAX), LIVE_COLUMNS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_end_in_order_and_with_the_run),
		cmocka_unit_test(a_time_is_in_the_first_column_that_ends_then_or_later),
		cmocka_unit_test(times_after_the_run_are_in_the_last_column),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
