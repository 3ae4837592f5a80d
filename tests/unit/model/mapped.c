/* Ranges against a table of pages: whatever is added and removed, both agree. */
#include "../test.h"

#include "model/mapped.h"

enum { UNITS = 64, ROUNDS = 20000 };

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t table_remove(bool *table, uint64_t begin, uint64_t units)
{
	uint64_t count = 0;

	for (uint64_t i = begin; i < begin + units && i < UNITS; i++) {
		count += table[i];
		table[i] = false;
	}
	return count;
}

static void check(const struct mapped *mapped, const bool *table)
{
	bool seen[UNITS] = { false };
	uint64_t end = 0;

	for (size_t i = 0; i < mapped->ranges.count; i++) {
		const struct mapped_range *range = &mapped->ranges.items[i];

		assert_true(range->begin >= end && range->begin < range->end);
		end = range->end;
		for (uint64_t at = range->begin; at < range->end; at++)
			seen[at] = true;
	}
	assert_memory_equal(seen, table, sizeof(seen));
}

static void ranges_are_what_a_table_says(void **state)
{
	CLEAN(mapped_deinit) struct mapped mapped = { 0 };
	bool table[UNITS] = { false };
	uint64_t random = 88172645463325252;

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		const uint64_t begin = next(&random) % UNITS;
		const uint64_t units = next(&random) % (UNITS - begin + 1);
		uint64_t removed;

		assert_true(mapped_remove(&mapped, begin, units, &removed));
		assert_int_equal(removed, table_remove(table, begin, units));
		if (next(&random) % 2) {
			assert_true(mapped_add(&mapped, begin, units));
			for (uint64_t at = begin; at < begin + units; at++)
				table[at] = true;
		}
		check(&mapped, table);
	}
}

static void the_end_of_memory_is_the_end(void **state)
{
	CLEAN(mapped_deinit) struct mapped mapped = { 0 };
	uint64_t removed;

	(void)state;
	assert_true(mapped_add(&mapped, UINT64_MAX - 10, UINT64_MAX));
	assert_true(mapped_remove(&mapped, 0, UINT64_MAX, &removed));
	assert_int_equal(removed, 10);
	assert_int_equal(mapped.ranges.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_what_a_table_says),
		cmocka_unit_test(the_end_of_memory_is_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
