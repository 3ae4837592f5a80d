#include "../test.h"

#include "core/core.h"

static void arithmetic_that_does_not_fit_says_so(void **state)
{
	size_t sum = 7;

	(void)state;
	assert_false(size_add_overflows(SIZE_MAX - 1, 1, &sum));
	assert_true(sum == SIZE_MAX);
	assert_true(size_add_overflows(SIZE_MAX, 1, &sum));
	assert_false(size_mul_overflows(SIZE_MAX / 2, 2, &sum));
	assert_true(size_mul_overflows(SIZE_MAX / 2 + 1, 2, &sum));
}

static void division_rounds_up_without_overflow(void **state)
{
	(void)state;
	assert_int_equal(div_up(0, 4096), 0);
	assert_int_equal(div_up(1, 4096), 1);
	assert_int_equal(div_up(4096, 4096), 1);
	assert_true(div_up(UINT64_MAX, 2) == UINT64_C(1) << 63);
	assert_int_equal(align_up(17, 16), 32);
	assert_int_equal(align_up(16, 16), 16);
}

static void loads_and_stores_need_no_alignment_and_are_little_endian(void **state)
{
	uint8_t bytes[16] = { 0 };

	(void)state;
	store_u32(bytes + 1, 0x04030201);
	assert_int_equal(bytes[1], 1);
	assert_int_equal(bytes[4], 4);
	assert_int_equal(load_u16(bytes + 2), 0x0302);
	store_u64(bytes + 3, UINT64_C(0x1122334455667788));
	assert_true(load_u64(bytes + 3) == UINT64_C(0x1122334455667788));
	store_u16(bytes + 3, 0xffff);
	assert_true(load_u64(bytes + 3) == UINT64_C(0x112233445566ffff));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arithmetic_that_does_not_fit_says_so),
		cmocka_unit_test(division_rounds_up_without_overflow),
		cmocka_unit_test(loads_and_stores_need_no_alignment_and_are_little_endian),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
