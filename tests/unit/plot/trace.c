#include "../test.h"

#include <math.h>

#include "plot/trace.h"

static void spikes_stay_in_their_column(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct timeline timeline = { 0 };
	struct trace trace;

	(void)state;
	assert_null(trace_init(&trace, 10, 0, 1000, &arena));
	for (unsigned i = 0; i < 1000; i++)
		trace_add(&trace, i, i == 555 ? 1000000 : 500 + i % 2, i == 111 ? 90 : 0);
	trace_finish(&trace, &timeline);
	assert_true(timeline.heap[5].low == 500 && timeline.heap[5].high == 1000000);
	assert_true(timeline.heap[6].high == 501);
	assert_true(timeline.stack[1].high == 90 && timeline.stack[2].high == 0);
	assert_true(timeline.total[5].high == 1000000);
	assert_true(timeline.peak.x == 555 && timeline.peak.y == 1000000);
}

static void levels_go_on_where_nothing_happens(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct timeline timeline = { 0 };
	struct trace trace;

	(void)state;
	assert_null(trace_init(&trace, 10, 0, 100, &arena));
	trace_add(&trace, 21, 70, 3);
	trace_add(&trace, 22, 40, 2); /* what the column ends with */
	trace_add(&trace, 85, 10, 1);
	trace_finish(&trace, &timeline);
	assert_true(timeline.heap[0].high == 0);
	assert_true(timeline.heap[2].low == 40 && timeline.heap[2].high == 70);
	assert_true(timeline.heap[5].low == 40 && timeline.heap[5].high == 40);
	assert_true(timeline.total[7].high == 42);
	assert_true(timeline.heap[9].high == 10);
}

static void what_is_outside_is_left_out(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct timeline timeline = { 0 };
	struct trace trace;

	(void)state;
	assert_null(trace_init(&trace, 4, 10, 20, &arena));
	trace_add(&trace, 9.9, 100, 0);
	trace_add(&trace, 20.1, 100, 0);
	trace_add(&trace, NAN, 100, 0);
	trace_add(&trace, 20, 7, 0); /* the end belongs to the last column */
	trace_finish(&trace, &timeline);
	assert_true(timeline.heap[3].high == 7);
	assert_true(timeline.peak.y == 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spikes_stay_in_their_column),
		cmocka_unit_test(levels_go_on_where_nothing_happens),
		cmocka_unit_test(what_is_outside_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
