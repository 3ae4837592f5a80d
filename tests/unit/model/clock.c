#include "../test.h"

#include "model/clock.h"

static const struct tape_header HEADER = {
	.clock = TAPE_CLOCK_TSC, .tick_shift = 2, .start_ticks = 1000, .start_monotonic_ns = 5000
};

static void add(struct clock *clock, uint64_t ticks, uint64_t ns)
{
	const struct tape_clock_pair pair = { .raw_ticks = ticks << 2, .monotonic_ns = ns };

	assert_true(clock_add(clock, &HEADER, &pair));
}

static void time_is_a_line_between_two_readings(void **state)
{
	struct clock clock;

	(void)state;
	assert_true(clock_init(&clock, &HEADER));
	add(&clock, 2000, 6000);
	add(&clock, 3000, 9000); /* the processor slowed down */
	clock_seal(&clock, &HEADER);
	assert_false(clock.is_estimated);
	assert_int_equal(clock_ns(&clock, 1000), 0);
	assert_int_equal(clock_ns(&clock, 1500), 500);
	assert_int_equal(clock_ns(&clock, 2000), 1000);
	assert_int_equal(clock_ns(&clock, 2500), 2500);
	assert_int_equal(clock_ns(&clock, 3000), 4000);
	assert_int_equal(clock_ns(&clock, 4000), 6000); /* by the whole slope: 2 ns a tick */
	assert_int_equal(clock_ns(&clock, 10), 0);
	clock_deinit(&clock);
}

static void readings_that_go_back_are_left_out(void **state)
{
	struct clock clock;

	(void)state;
	assert_true(clock_init(&clock, &HEADER));
	add(&clock, 2000, 6000);
	add(&clock, 2000, 6000);
	add(&clock, 2500, 100); /* nonsense: time went back */
	add(&clock, 3000, 7000);
	add(&clock, 1500, 9000);
	clock_seal(&clock, &HEADER);
	assert_int_equal(clock_ns(&clock, 2600), 1600);
	clock_deinit(&clock);
}

static void times_before_the_last_reading_are_known_while_it_runs(void **state)
{
	struct clock clock, copy = { 0 };
	uint64_t known;

	(void)state;
	assert_true(clock_init(&clock, &HEADER));
	assert_int_equal(clock_horizon(&clock), 1000);
	add(&clock, 2000, 6000);
	add(&clock, 3000, 9000);
	assert_true(clock_follow(&copy, &clock));
	assert_int_equal(clock_horizon(&copy), 3000);
	known = clock_ns(&copy, 2999);
	add(&clock, 5000, 9100);
	clock_seal(&clock, &HEADER);
	assert_int_equal(clock_ns(&clock, 2999), known);
	assert_true(clock_follow(&copy, &clock));
	assert_int_equal(clock_ns(&copy, 7000), clock_ns(&clock, 7000));
	clock_deinit(&clock);
	clock_deinit(&copy);
}

static void times_never_go_back(void **state)
{
	struct clock clock;
	uint64_t before = 0;
	struct clock_piece piece = { 0 };

	(void)state;
	assert_true(clock_init(&clock, &HEADER));
	for (uint64_t i = 0; i < 50; i++)
		add(&clock, 1000 + i * 777, 5000 + i * 300 + i % 3);
	clock_seal(&clock, &HEADER);
	for (uint64_t ticks = 0; ticks < 60000; ticks += 7) {
		uint64_t ns = clock_ns_piece(&clock, ticks, &piece);

		assert_true(ns >= before);
		assert_int_equal(ns, clock_ns(&clock, ticks));
		before = ns;
	}
	clock_deinit(&clock);
}

static void a_tape_without_readings_says_that_it_guesses(void **state)
{
	struct clock clock;

	(void)state;
	assert_true(clock_init(&clock, &HEADER));
	clock_seal(&clock, &HEADER);
	assert_true(clock.is_estimated);
	assert_int_equal(clock_ns(&clock, 1000), 0);
	assert_true(clock_ns(&clock, 2000) > 0);
	assert_true(clock_ns(&clock, UINT64_MAX) <= UINT64_C(1) << 62);
	clock_deinit(&clock);
}

static void monotonic_ticks_are_shifted_nanoseconds(void **state)
{
	struct tape_header header = HEADER;
	struct clock clock;

	(void)state;
	header.clock = TAPE_CLOCK_MONOTONIC;
	assert_true(clock_init(&clock, &header));
	clock_seal(&clock, &header);
	assert_false(clock.is_estimated);
	assert_int_equal(clock_ns(&clock, 1250), 1000);
	clock_deinit(&clock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_is_a_line_between_two_readings),
		cmocka_unit_test(readings_that_go_back_are_left_out),
		cmocka_unit_test(times_before_the_last_reading_are_known_while_it_runs),
		cmocka_unit_test(times_never_go_back),
		cmocka_unit_test(a_tape_without_readings_says_that_it_guesses),
		cmocka_unit_test(monotonic_ticks_are_shifted_nanoseconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
