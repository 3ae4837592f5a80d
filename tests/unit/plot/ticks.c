#include "../test.h"

#include "plot/ticks.h"

static const char *label_at(const struct ticks *ticks, size_t i)
{
	assert_true(i < ticks->count);
	return ticks->items[i].label;
}

static void steps_are_one_two_or_five(void **state)
{
	static const struct {
		enum ticks_unit unit;
		double value, max, step;
	} rows[] = {
		{ TICKS_COUNT, 0.3, 4, 1 },
		{ TICKS_COUNT, 3, 40, 5 },
		{ TICKS_COUNT, 11, 100, 20 },
		{ TICKS_COUNT, 20, 100, 20 },
		{ TICKS_BYTES, 30, 300, 50 },
		{ TICKS_BYTES, 3000, 30000, 5 * 1024 },
		{ TICKS_BYTES, 200 * 1048576.0, 1200 * 1048576.0, 0.2 * 1073741824 },
		{ TICKS_NS, 3e6, 3e7, 5e6 },
		{ TICKS_NS, 11e9, 60e9, 20e9 },
		{ TICKS_NS, 21e9, 100e9, 30e9 },
		{ TICKS_NS, 40e9, 400e9, 60e9 },
		{ TICKS_NS, 8 * 60e9, 3600e9, 10 * 60e9 },
		{ TICKS_NS, 2 * 3600e9, 20 * 3600e9, 2 * 3600e9 },
		{ TICKS_PLAIN, 0.03, 1, 0.05 },
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		const double step = ticks_step(rows[i].unit, rows[i].value, rows[i].max);

		if (step < rows[i].step * .999 || step > rows[i].step * 1.001)
			fail_msg("row %zu: %f instead of %f", i, step, rows[i].step);
	}
}

static void labels_of_an_axis_are_in_one_unit(void **state)
{
	struct ticks ticks;

	(void)state;
	ticks_linear(TICKS_BYTES, 0, 0x1p30, 0.25 * 0x1p30, &ticks);
	assert_int_equal(ticks.count, 5);
	assert_string_equal(label_at(&ticks, 0), "0");
	assert_string_equal(label_at(&ticks, 1), "0.25 GiB");
	assert_string_equal(label_at(&ticks, 4), "1.00 GiB");
	ticks_linear(TICKS_NS, 1e9, 2.5e9, 5e8, &ticks);
	assert_string_equal(label_at(&ticks, 0), "1.0 s");
	assert_string_equal(label_at(&ticks, 1), "1.5 s");
	ticks_linear(TICKS_COUNT, 0, 3e6, 1e6, &ticks);
	assert_string_equal(label_at(&ticks, 3), "3 M");
	ticks_linear(TICKS_COUNT, 0, 30000, 10000, &ticks);
	assert_string_equal(label_at(&ticks, 3), "30,000");
	ticks_linear(TICKS_BYTE_RATE, 0, 4096, 1024, &ticks);
	assert_string_equal(label_at(&ticks, 2), "2 KiB/s");
}

static void negative_values_have_labels_too(void **state)
{
	struct ticks ticks;

	(void)state;
	ticks_linear(TICKS_PLAIN, -1, 1, 0.5, &ticks);
	assert_int_equal(ticks.count, 5);
	assert_string_equal(label_at(&ticks, 0), "-1.0");
	assert_string_equal(label_at(&ticks, 2), "0.0");
}

static void logarithmic_axes_have_powers(void **state)
{
	struct ticks ticks;

	(void)state;
	ticks_log(TICKS_BYTES, 1, 4096, 20, &ticks);
	assert_int_equal(ticks.count, 13);
	assert_string_equal(label_at(&ticks, 0), "1 B");
	assert_string_equal(label_at(&ticks, 10), "1 KiB");
	ticks_log(TICKS_NS, 150, 2e9, 20, &ticks);
	assert_string_equal(label_at(&ticks, 0), "1 us");
	assert_string_equal(label_at(&ticks, ticks.count - 1), "1 s");
}

/* A narrow picture of an enormous range, and ranges without a round number in them. */
static void there_are_never_too_many(void **state)
{
	struct ticks ticks;

	(void)state;
	ticks_linear(TICKS_COUNT, 0, 1e15, 1, &ticks);
	assert_int_equal(ticks.count, TICKS_MAX);
	ticks_log(TICKS_NS, 1e-9, 1e300, 1, &ticks);
	assert_true(ticks.count <= TICKS_MAX);
	ticks_log(TICKS_NS, 2, 3, 5, &ticks);
	assert_int_equal(ticks.count, 0);
	ticks_linear(TICKS_COUNT, 1.2, 1.4, 1, &ticks);
	assert_int_equal(ticks.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_one_two_or_five),
		cmocka_unit_test(labels_of_an_axis_are_in_one_unit),
		cmocka_unit_test(negative_values_have_labels_too),
		cmocka_unit_test(logarithmic_axes_have_powers),
		cmocka_unit_test(there_are_never_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
