/* Memory made executable: what was added is held, whatever was merged to make room. */
#include "../test.h"

#include "rec/rec.h"

enum { PAGE = 4096, GAP = 1 << 20, MORE_THAN_FIT = 200 };

static void test_ranges_grow_where_they_touch(void **state)
{
	(void)state;
	assert_false(rec_code_holds(0));
	rec_code_add(GAP, PAGE);
	rec_code_add(GAP + PAGE, PAGE);
	rec_code_add(GAP - PAGE, PAGE);
	assert_true(rec_code_holds(GAP - PAGE));
	assert_true(rec_code_holds(GAP + 2 * PAGE - 1));
	assert_false(rec_code_holds(GAP + 2 * PAGE));
	assert_false(rec_code_holds(GAP - PAGE - 1));
}

static void test_nonsense_is_not_added(void **state)
{
	(void)state;
	rec_code_add(UINT64_MAX - PAGE, 2 * PAGE);
	rec_code_add(7 * PAGE, 0);
	assert_false(rec_code_holds(UINT64_MAX - 1));
	assert_false(rec_code_holds(7 * PAGE));
}

/* Once the table is full, what is new is held together with the range nearest to it. */
static void test_more_ranges_than_there_is_room_for(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= MORE_THAN_FIT; i++)
		rec_code_add(i * GAP, PAGE);
	for (uint64_t i = 1; i <= MORE_THAN_FIT; i++)
		assert_true(rec_code_holds(i * GAP + PAGE - 1));
	assert_false(rec_code_holds(2 * GAP + PAGE));
	assert_true(rec_code_holds((uint64_t)MORE_THAN_FIT * GAP - PAGE));
	assert_false(rec_code_holds((uint64_t)MORE_THAN_FIT * GAP + PAGE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges_grow_where_they_touch),
		cmocka_unit_test(test_nonsense_is_not_added),
		cmocka_unit_test(test_more_ranges_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
