#include "../test.h"

#include "core/core.h"
#include "findings/pattern.h"

enum { END_NS = 20000 }; /* of the time of a course; units do not matter */

/* Live bytes when blocks of 10 bytes come from first_ns to last_ns, at equal distances. */
static void values_fill(uint64_t *values, uint64_t first_ns, uint64_t last_ns, uint64_t blocks)
{
	for (size_t i = 0; i < COURSE_POINTS; i++) {
		const uint64_t ns = END_NS * (i + 1) / COURSE_POINTS;
		const uint64_t part = u64_min(ns, last_ns) - u64_min(first_ns, ns);

		values[i] = ns < first_ns ? 0 : 10 * blocks * (part + 1) / (last_ns - first_ns + 1);
	}
}

static struct course_judged judge(uint64_t first_ns, uint64_t last_ns, uint64_t blocks)
{
	uint64_t values[COURSE_POINTS];
	const struct course course = {
		.values = values,
		.end_ns = END_NS,
		.first_ns = first_ns,
		.last_ns = last_ns,
		.allocated_count = blocks,
		.kept_count = blocks,
	};

	values_fill(values, first_ns, last_ns, blocks);
	return course_judge(&course);
}

static void what_comes_at_equal_distances_has_its_pattern(void **state)
{
	static const struct {
		const char *what;
		uint64_t first_ns, last_ns, blocks;
		enum growth_pattern pattern;
	} rows[] = {
		{ "to the end", 0, END_NS, 5000, PATTERN_GROWING },
		{ "to the end, of few blocks", 0, END_NS, 100, PATTERN_GROWING },
		{ "from the middle to the end", 9000, END_NS, 5000, PATTERN_GROWING },
		{ "for half of the time", 0, 10000, 5000, PATTERN_LEVELLED_OFF },
		{ "a few in a moment", 5000, 5100, 999, PATTERN_ONE_OFF },
		{ "many in a moment", 5000, 5100, 1000, PATTERN_BURST },
		{ "very many in a twentieth, early", 0, 1000, 71045, PATTERN_BURST },
		{ "very many in a twentieth, in the middle", 9000, 10000, 71045, PATTERN_BURST },
		{ "very many in a twentieth, late", 18000, 19000, 71045, PATTERN_BURST },
		{ "a few in a twentieth, early", 0, 1000, 50, PATTERN_ONE_OFF },
		{ "very many up to the end, but only since shortly before it", 19000, END_NS, 71045,
		  PATTERN_UNSTEADY },
		{ "two blocks far apart", 100, 15000, 2, PATTERN_ONE_OFF },
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		const struct course_judged judged =
			judge(rows[i].first_ns, rows[i].last_ns, rows[i].blocks);

		if (judged.pattern != rows[i].pattern)
			fail_msg("%s: %s", rows[i].what, growth_pattern_words[judged.pattern]);
	}
}

static void a_burst_is_of_blocks_that_stay(void **state)
{
	uint64_t values[COURSE_POINTS];
	struct course course = {
		.values = values,
		.end_ns = END_NS,
		.first_ns = 5000,
		.last_ns = 5100,
		.allocated_count = 71045,
		.kept_count = 10,
	};

	(void)state;
	values_fill(values, 5000, 5100, 10);
	assert_int_equal(course_judge(&course).pattern, PATTERN_ONE_OFF);
	course.kept_count = 1000;
	assert_int_equal(course_judge(&course).pattern, PATTERN_BURST);
}

static void bursts_that_come_again_up_to_the_end_are_growth(void **state)
{
	uint64_t values[COURSE_POINTS];
	const struct course course = {
		.values = values,
		.end_ns = END_NS,
		.first_ns = 500,
		.last_ns = 19000,
		.allocated_count = 6000,
		.kept_count = 6000,
	};

	(void)state;
	for (size_t i = 0; i < COURSE_POINTS; i++)
		values[i] = 100000 * (1 + i / 22);
	assert_int_equal(course_judge(&course).pattern, PATTERN_GROWING);
	values[60] = 0; /* all was freed once: these are no steps */
	assert_int_equal(course_judge(&course).pattern, PATTERN_LEVELLED_OFF);
}

static void what_is_freed_at_the_end_has_grown_all_the_same(void **state)
{
	uint64_t values[COURSE_POINTS];
	const struct course course = {
		.values = values,
		.end_ns = END_NS,
		.last_ns = END_NS,
		.allocated_count = 5000,
	};

	(void)state;
	values_fill(values, 0, END_NS, 5000);
	for (size_t i = COURSE_POINTS - COURSE_TEARDOWN; i < COURSE_POINTS; i++)
		values[i] = 0;
	assert_int_equal(course_judge(&course).pattern, PATTERN_GROWING);
}

static void a_course_says_where_it_begins_and_whether_all_came_at_once(void **state)
{
	(void)state;
	assert_int_equal(judge(0, END_NS, 5000).first, 0);
	assert_int_equal(judge(10000, END_NS, 5000).first, COURSE_POINTS / 2);
	assert_int_equal(judge(END_NS, END_NS, 5).first, COURSE_POINTS - 1);
	assert_true(judge(5000, 7000, 5000).is_at_once);
	assert_false(judge(5000, 7001, 5000).is_at_once);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_at_equal_distances_has_its_pattern),
		cmocka_unit_test(a_burst_is_of_blocks_that_stay),
		cmocka_unit_test(bursts_that_come_again_up_to_the_end_are_growth),
		cmocka_unit_test(what_is_freed_at_the_end_has_grown_all_the_same),
		cmocka_unit_test(a_course_says_where_it_begins_and_whether_all_came_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
