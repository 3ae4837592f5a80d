#include "../test.h"

#include <string.h>

#include "core/random.h"

static void all_bytes_are_filled_and_differ_each_time(void **state)
{
	static uint8_t first[4096], second[4096];
	unsigned seen[256] = { 0 };

	(void)state;
	assert_int_equal(random_fill(first, sizeof(first)), 0);
	assert_int_equal(random_fill(second, sizeof(second)), 0);
	assert_memory_not_equal(first, second, sizeof(first));
	for (size_t i = 0; i < sizeof(first); i++)
		seen[first[i]]++;
	for (size_t i = 0; i < 256; i++)
		assert_true(seen[i] < 100); /* 16 are likely; 100 once in 10^40 runs */
	assert_memory_not_equal(first + sizeof(first) - 16, (uint8_t[16]) { 0 }, 16);
}

static void nothing_is_asked_for_no_bytes(void **state)
{
	(void)state;
	assert_int_equal(random_fill(NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_bytes_are_filled_and_differ_each_time),
		cmocka_unit_test(nothing_is_asked_for_no_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
