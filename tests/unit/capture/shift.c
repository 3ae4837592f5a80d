#include "capture/shift.h"

#include <stdlib.h>

#include "../test.h"

static const uint64_t GIB = UINT64_C(1) << 30;

static struct shift *shift_of(uint64_t first_gib, uint64_t second_gib)
{
	struct shift *shift = calloc(1, sizeof(*shift));

	assert_non_null(shift);
	shift_note(shift, first_gib * GIB, 4096);
	shift_note(shift, second_gib * GIB, 4096);
	assert_null(shift_make(shift));
	return shift;
}

static void what_was_not_noted_moves_with_its_nearest(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		struct shift *shift = shift_of(100, 1000);
		const uint64_t first = shift_address(shift, 100 * GIB) - 100 * GIB;
		const uint64_t second = shift_address(shift, 1000 * GIB) - 1000 * GIB;

		/* mappings over the edges of both parts are not torn */
		assert_int_equal(shift_address(shift, 100 * GIB - 1), 100 * GIB - 1 + first);
		assert_int_equal(shift_address(shift, 102 * GIB), 102 * GIB + first);
		assert_int_equal(shift_address(shift, 1000 * GIB - 1), 1000 * GIB - 1 + second);
		assert_int_equal(shift_address(shift, 990 * GIB), 990 * GIB + second);
		assert_int_equal(shift_address(shift, 5000 * GIB), 5000 * GIB + second);
		free(shift);
	}
}

static void parts_stay_in_order_and_apart(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		struct shift *shift = shift_of(20, 40);

		assert_true(shift_address(shift, 20 * GIB) + GIB < shift_address(shift, 40 * GIB));
		assert_int_equal(shift_address(shift, 0), 0);
		assert_int_equal(shift_address(shift, UINT64_MAX), UINT64_MAX);
		free(shift);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_not_noted_moves_with_its_nearest),
		cmocka_unit_test(parts_stay_in_order_and_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
