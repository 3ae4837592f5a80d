#include "../test.h"

#include "core/core.h"
#include "findings/fit.h"

enum { COUNT = 120 };

static bool is_near(double a, double b)
{
	return a - b < 1e-6 && b - a < 1e-6;
}

static void a_line_is_found_exactly(void **state)
{
	uint64_t values[COUNT];
	struct fit fit;

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		values[i] = 1000 + 250 * i;
	fit = fit_line(values, COUNT);
	assert_true(is_near(fit.slope, 250));
	assert_true(is_near(fit.begin, 1000));
	assert_true(is_near(fit.r2, 1));
}

static void a_known_set_of_points_has_its_known_fit(void **state)
{
	const uint64_t values[] = { 1, 3, 2, 4 };
	const struct fit fit = fit_line(values, 4);

	(void)state;
	assert_true(is_near(fit.slope, 0.8));
	assert_true(is_near(fit.begin, 1.3));
	assert_true(is_near(fit.r2, 0.64));
}

static void few_values_and_constants_are_flat(void **state)
{
	const uint64_t values[] = { 7, 7, 7, 7 };

	(void)state;
	assert_true(is_near(fit_line(values, 0).slope, 0));
	assert_true(is_near(fit_line(values, 1).slope, 0));
	assert_true(is_near(fit_line(values, 4).slope, 0));
	assert_true(is_near(fit_line(values, 4).r2, 1));
	assert_true(is_near(fit_line(values, 4).begin, 7));
}

static uint64_t noise(size_t i)
{
	return (i * 2654435761U >> 7) % 1000;
}

static uint64_t steady(size_t i)
{
	return 1000 * i;
}

static uint64_t steady_with_noise(size_t i)
{
	return 5000 + 1000 * i + 10 * noise(i);
}

static uint64_t little_on_a_base(size_t i)
{
	return i == 0 ? 0 : 100000000 + 1000 * i;
}

static uint64_t line_on_a_base(size_t i)
{
	return i == 0 ? 0 : 1000000 + 1000 * i;
}

static uint64_t twelve_steps(size_t i)
{
	return i / 10 * 10000;
}

static uint64_t three_steps(size_t i)
{
	return i / 40 * 10000;
}

static uint64_t at_once(size_t i)
{
	return i < 3 ? 1000 * i : 3000;
}

static uint64_t fills_and_is_full(size_t i)
{
	return i < 60 ? 1000 * i : 60000;
}

static uint64_t square_root(size_t i)
{
	uint64_t root = 0;

	while ((root + 1) * (root + 1) <= i * 1000000)
		root++;
	return root;
}

static uint64_t up_and_down(size_t i)
{
	return i < 60 ? 1000 * i : 1000 * (COUNT - i);
}

static uint64_t saw(size_t i)
{
	return 1000 * (i % 12);
}

static uint64_t nothing(size_t i)
{
	return 0 * i;
}

static uint64_t falls(size_t i)
{
	return 1000 * (COUNT - i);
}

static uint64_t doubles(size_t i)
{
	return UINT64_C(1) << i / 10;
}

static void every_course_has_its_kind(void **state)
{
	static const struct {
		const char *what;
		uint64_t (*at)(size_t i);
		enum growth_kind kind;
	} rows[] = {
		{ "steady", steady, GROWTH_STEADY },
		{ "steady with noise", steady_with_noise, GROWTH_STEADY },
		{ "many steps", twelve_steps, GROWTH_STEADY },
		{ "a little on what was there at once", little_on_a_base, GROWTH_ONCE },
		{ "a line on what was there at once", line_on_a_base, GROWTH_STEADY },
		{ "three steps", three_steps, GROWTH_PLATEAU },
		{ "at once", at_once, GROWTH_ONCE },
		{ "fills and is full", fills_and_is_full, GROWTH_PLATEAU },
		{ "as a square root", square_root, GROWTH_PLATEAU },
		{ "up and down", up_and_down, GROWTH_NONE },
		{ "a saw", saw, GROWTH_NONE },
		{ "nothing", nothing, GROWTH_NONE },
		{ "falls", falls, GROWTH_NONE },
		{ "one block that doubles", doubles, GROWTH_NONE },
	};

	(void)state;
	for (size_t row = 0; row < array_size(rows); row++) {
		uint64_t values[COUNT];
		struct growth growth;

		for (size_t i = 0; i < COUNT; i++)
			values[i] = rows[row].at(i);
		growth = growth_of(values, COUNT);
		if (growth.kind != rows[row].kind)
			fail_msg("%s: %d", rows[row].what, growth.kind);
	}
}

static void too_few_values_are_no_course(void **state)
{
	const uint64_t values[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

	(void)state;
	assert_int_equal(growth_of(values, 16).kind, GROWTH_STEADY);
	assert_int_equal(growth_of(values, 15).kind, GROWTH_NONE);
	assert_int_equal(growth_of(values, 0).kind, GROWTH_NONE);
	assert_int_equal(growth_of(values, 16).grown, 15);
	assert_int_equal(growth_of(values, 16).rises, 15);
}

static void what_was_built_up_first_is_not_growth(void **state)
{
	uint64_t values[COUNT];
	struct growth growth;

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		values[i] = line_on_a_base(i);
	growth = growth_of(values, COUNT);
	assert_int_equal(growth.begin, COUNT / 10);
	assert_int_equal(growth.grown, 1000 * (COUNT - 1 - COUNT / 10));
	assert_true(is_near(growth.fit.slope, 1000));
}

static void values_may_be_as_large_as_they_get(void **state)
{
	uint64_t values[COUNT];

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		values[i] = UINT64_MAX / COUNT * i;
	assert_int_equal(growth_of(values, COUNT).kind, GROWTH_STEADY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_found_exactly),
		cmocka_unit_test(a_known_set_of_points_has_its_known_fit),
		cmocka_unit_test(few_values_and_constants_are_flat),
		cmocka_unit_test(every_course_has_its_kind),
		cmocka_unit_test(too_few_values_are_no_course),
		cmocka_unit_test(what_was_built_up_first_is_not_growth),
		cmocka_unit_test(values_may_be_as_large_as_they_get),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
