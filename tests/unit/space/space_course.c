#include "../random_tape.h"

#include "space/space_course.h"

enum { TIMES = 60, EVENTS = 20000 };

/* Ascending, some of them twice; the first before, the last after the recording. */
static void make_times(const struct model *model, size_t count, uint64_t *times)
{
	const uint64_t end = model_process(model)->duration_ns;

	for (size_t i = 0; i < count; i++)
		times[i] = i < count / 4 * 3 ? i / 3 * 3 * end / count : end / 2 + i * end / count;
	if (count > 0)
		times[count - 1] = UINT64_MAX - 1;
}

static void a_course_is_what_a_space_sees(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 7, TIMES };

	(void)state;
	for (size_t at = 0; at < array_size(counts); at++) {
		CLEAN(space_destroy) struct space *space = NULL;
		struct random_tape tape;
		struct space_live live[TIMES] = { 0 };
		uint64_t times[TIMES];

		tape_make(&tape, 3 + at, EVENTS);
		make_times(tape.model, counts[at], times);
		assert_null(space_course(tape.model, times, counts[at], live));
		assert_null(space_create(tape.model, &space));
		for (size_t i = 0; i < counts[at]; i++) {
			assert_null(space_advance_blocks(space, times[i]));
			assert_int_equal(live[i].count, space_live(space).count);
			assert_int_equal(live[i].bytes, space_live(space).bytes);
			assert_int_equal(live[i].usable, space_live(space).usable);
		}
		tape_unmake(&tape);
	}
}

/* Events of the same time: a block is live from after its allocation until its free. */
static void a_block_is_live_at_the_time_of_its_free(void **state)
{
	struct random_tape tape;
	struct space_live live[2];
	struct tape_row row;
	uint64_t number = 0;

	(void)state;
	tape_make(&tape, 9, EVENTS);
	do
		row = tape_row(&tape, number++);
	while (row.values[MODEL_FREE_NS] == MODEL_NEVER ||
	       row.values[MODEL_FREE_NS] <= row.values[MODEL_ALLOC_NS]);
	{
		CLEAN(space_destroy) struct space *space = NULL;
		const uint64_t times[2] = { row.values[MODEL_FREE_NS],
					    row.values[MODEL_FREE_NS] + 1 };

		assert_null(space_course(tape.model, times, 2, live));
		assert_null(space_create(tape.model, &space));
		assert_null(space_advance_blocks(space, times[0]));
		assert_int_equal(live[0].count, space_live(space).count);
		assert_null(space_advance_blocks(space, times[1]));
		assert_int_equal(live[1].bytes, space_live(space).bytes);
	}
	tape_unmake(&tape);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_course_is_what_a_space_sees),
		cmocka_unit_test(a_block_is_live_at_the_time_of_its_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
