#include "../test.h"

#include "groups/spread.h"

static void small_values_are_exact(void **state)
{
	struct spread spread;

	(void)state;
	spread_init(&spread);
	assert_int_equal(spread_percentile(&spread, 500), 0);
	for (uint64_t value = 0; value < SPREAD_PARTS; value++)
		spread_add(&spread, value);
	for (unsigned thousandths = 0; thousandths <= 1000; thousandths++) {
		const uint64_t rank = (32 * thousandths + 999) / 1000;

		assert_int_equal(spread_percentile(&spread, thousandths), rank ? rank - 1 : 0);
	}
}

/* Never less than the true value, at most a part of 32 more, and never more than the largest. */
static void large_values_are_near_and_never_too_small(void **state)
{
	(void)state;
	for (unsigned shift = 5; shift < 64; shift++) {
		const uint64_t base = UINT64_C(1) << shift;

		for (uint64_t i = 0; i < 70; i++) {
			const uint64_t value = base + (base / 70) * i;
			struct spread spread;
			uint64_t found;

			spread_init(&spread);
			spread_add(&spread, value);
			spread_add(&spread, UINT64_MAX);
			found = spread_percentile(&spread, 500);
			assert_true(found >= value);
			assert_true(found - value <= value / SPREAD_PARTS);
			assert_true(spread_percentile(&spread, 1000) == UINT64_MAX);
			assert_true(spread_percentile(&spread, 0) == value);
		}
	}
}

static void a_single_value_is_all_percentiles(void **state)
{
	struct spread spread;

	(void)state;
	spread_init(&spread);
	for (unsigned i = 0; i < 10; i++)
		spread_add(&spread, 123456789);
	for (unsigned thousandths = 0; thousandths <= 1000; thousandths += 100)
		assert_int_equal(spread_percentile(&spread, thousandths), 123456789);
}

static void every_rank_is_found(void **state)
{
	struct spread spread;

	(void)state;
	spread_init(&spread);
	for (unsigned count = 1; count <= 60; count++) {
		spread_add(&spread, UINT64_C(1) << (count - 1));
		for (unsigned rank = 1; rank <= count; rank++) {
			const uint64_t value = UINT64_C(1) << (rank - 1);

			assert_true(spread_at(&spread, rank) >= value);
			assert_true(spread_at(&spread, rank) < value + value / SPREAD_PARTS + 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_values_are_exact),
		cmocka_unit_test(every_rank_is_found),
		cmocka_unit_test(large_values_are_near_and_never_too_small),
		cmocka_unit_test(a_single_value_is_all_percentiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
