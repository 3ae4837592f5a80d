#include "../test.h"

#include "model/tallies.h"

static void only_stacks_with_events_have_a_tally(void **state)
{
	struct tallies tallies = { 0 };

	(void)state;
	assert_true(tallies_reserve(&tallies, 1000000));
	assert_int_equal(tallies.count, 1);
	tally_alloc(tallies_seat(&tallies, 999999), 10, 1);
	assert_true(tallies_make_room(&tallies));
	tally_alloc(tallies_seat(&tallies, 5), 20, 1);
	tally_alloc(tallies_seat(&tallies, 5), 1, 1);
	assert_int_equal(tallies.count, 3);
	assert_int_equal(tallies_of(&tallies, 999999)->live.bytes, 10);
	assert_int_equal(tallies_of(&tallies, 5)->live.count, 2);
	assert_int_equal(tallies_of(&tallies, 6)->allocated.count, 0);
	assert_int_equal(tallies_bytes(&tallies, 1000000),
			 1000000 * sizeof(uint32_t) + 3 * sizeof(struct tally));
	tallies_deinit(&tallies);
}

static void they_stay_as_they_are_while_all_grows(void **state)
{
	enum { STACKS = 20000 };
	struct tallies tallies = { 0 };

	(void)state;
	for (uint32_t i = 0; i < STACKS; i++) {
		assert_true(tallies_reserve(&tallies, i + 1));
		assert_true(tallies_make_room(&tallies));
		if (i % 3 == 0)
			tally_alloc(tallies_seat(&tallies, i), i, 1);
	}
	for (uint32_t i = 0; i < STACKS; i++) {
		assert_int_equal(tallies_of(&tallies, i)->live.count, i % 3 == 0);
		assert_int_equal(tallies_of(&tallies, i)->live.bytes, i % 3 == 0 ? i : 0);
	}
	assert_int_equal(tallies.count, 1 + (STACKS + 2) / 3);
	tallies_deinit(&tallies);
}

static void a_copy_goes_its_own_way(void **state)
{
	struct tallies tallies = { 0 }, copy;

	(void)state;
	assert_true(tallies_reserve(&tallies, 10));
	tally_alloc(tallies_seat(&tallies, 7), 10, 1);
	assert_true(tallies_copy(&tallies, &copy));
	tally_free(tallies_of(&tallies, 7), 10, 1, false);
	assert_int_equal(tallies_of(&copy, 7)->live.bytes, 10);
	assert_int_equal(tallies_of(&tallies, 7)->live.bytes, 0);
	tallies_drop(&copy);
	tallies_deinit(&tallies);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_stacks_with_events_have_a_tally),
		cmocka_unit_test(they_stay_as_they_are_while_all_grows),
		cmocka_unit_test(a_copy_goes_its_own_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
