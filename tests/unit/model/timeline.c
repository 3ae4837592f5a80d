#include "../test.h"

#include "model/timeline.h"

static struct timeline timeline; /* large */

static void set(uint64_t ticks, uint64_t live, struct timeline_now *now)
{
	timeline_see(&timeline, ticks, now);
	now->live_bytes = live;
	now->allocated_count++;
	timeline_risen(&timeline, live);
}

static void a_short_run_keeps_every_span(void **state)
{
	struct timeline_now now = { 0 };

	(void)state;
	assert_true(timeline_init(&timeline, 100, 0));
	set(101, 10, &now);
	set(100 + timeline.span_ticks, 20, &now);
	set(101 + timeline.span_ticks, 5, &now);
	assert_int_equal(timeline.at, 1);
	assert_int_equal(timeline.spans[0].live_bytes_max, 10);
	assert_int_equal(timeline.spans[0].end.live_bytes, 10);
	assert_int_equal(timeline.spans[1].live_bytes_max, 20);
	timeline_deinit(&timeline);
}

static void what_nobody_touches_stays(void **state)
{
	struct timeline_now now = { 0 };
	uint64_t span;

	(void)state;
	assert_true(timeline_init(&timeline, 0, 0));
	span = timeline.span_ticks;
	set(1, 10, &now);
	set(5 * span, 3, &now);
	for (size_t i = 1; i < 5; i++) {
		assert_int_equal(timeline.spans[i].live_bytes_max, 10);
		assert_int_equal(timeline.spans[i].end.allocated_count, 1);
	}
	assert_int_equal(timeline.spans[5].live_bytes_max, 10); /* at its beginning */
	timeline_deinit(&timeline);
}

static void a_long_run_is_made_to_fit_and_keeps_its_peak(void **state)
{
	struct timeline_now now = { 0 };
	uint64_t max = 0, last = 0;

	(void)state;
	assert_true(timeline_init(&timeline, 0, 4));
	for (uint64_t i = 0; i < 100000; i++)
		set(last = i * 991, i == 54321 ? 1000000 : i % 1000, &now);
	timeline.spans[timeline.at].end = now;
	assert_true(timeline.at < TIMELINE_SPANS);
	assert_true(timeline.at >= TIMELINE_SPANS / 2 - 1);
	assert_int_equal(timeline.at, last / timeline.span_ticks);
	for (size_t i = 0; i <= timeline.at; i++) {
		uint64_t begin = i * timeline.span_ticks, end = begin + timeline.span_ticks;
		uint64_t before = i ? timeline.spans[i - 1].end.allocated_count : 0;
		uint64_t due =
			(u64_min(end - 1, last) / 991 + 1) - (begin ? (begin - 1) / 991 + 1 : 0);

		assert_int_equal(timeline.spans[i].end.allocated_count - before, due);
		max = u64_max(max, timeline.spans[i].live_bytes_max);
	}
	assert_int_equal(max, 1000000);
	assert_int_equal(timeline.spans[UINT64_C(54321) * 991 / timeline.span_ticks].live_bytes_max,
			 1000000);
	timeline_deinit(&timeline);
}

static void the_end_of_time_is_survived(void **state)
{
	struct timeline_now now = { 0 };

	(void)state;
	assert_true(timeline_init(&timeline, 5, 0));
	set(6, 1, &now);
	set(UINT64_MAX, 2, &now);
	set(UINT64_MAX - 1, 3, &now);
	set(0, 4, &now); /* before the beginning */
	assert_true(timeline.at < TIMELINE_SPANS);
	timeline_deinit(&timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_run_keeps_every_span),
		cmocka_unit_test(what_nobody_touches_stays),
		cmocka_unit_test(a_long_run_is_made_to_fit_and_keeps_its_peak),
		cmocka_unit_test(the_end_of_time_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
