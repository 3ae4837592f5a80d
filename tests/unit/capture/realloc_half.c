#include "capture/realloc_half.h"

#include "../test.h"

static void a_second_half_belongs_to_the_first_before_it(void **state)
{
	const struct capture_event out = { .address = 0x1000, .fn = TAPE_FN_REALLOC_OUT };
	struct realloc_half half = { 0 };

	(void)state;
	realloc_half_open(&half, &out);
	assert_true(half.is_open);
	assert_true(realloc_half_close(&half));
	assert_int_equal(half.out.address, 0x1000);
}

static void a_second_half_alone_is_of_no_known_block(void **state)
{
	const struct capture_event out = { .address = 0x1000, .fn = TAPE_FN_REALLOC_OUT };
	struct realloc_half half = { 0 };

	(void)state;
	assert_false(realloc_half_close(&half));
	realloc_half_open(&half, &out);
	realloc_half_close(&half);
	assert_false(realloc_half_close(&half));
}

static void a_free_is_a_second_half_by_its_function(void **state)
{
	const struct capture_event of_realloc = { .fn = TAPE_FN_REALLOC_FREE };
	const struct capture_event plain = { .fn = TAPE_FN_FREE };

	(void)state;
	assert_true(realloc_half_is_free(&of_realloc));
	assert_false(realloc_half_is_free(&plain));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_second_half_belongs_to_the_first_before_it),
		cmocka_unit_test(a_second_half_alone_is_of_no_known_block),
		cmocka_unit_test(a_free_is_a_second_half_by_its_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
