/* What is mapped grows and shrinks by what a table of pages says, whatever lies where. */
#include "../test.h"

#include "rec/mapped.h"

enum { UNITS = 64, ROUNDS = 20000 };

struct rec_process rec;

bool rec_lock(_Atomic uint64_t *lock)
{
	(void)lock;
	return true;
}

void rec_unlock(_Atomic uint64_t *lock)
{
	(void)lock;
}

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int64_t table_set(bool *table, uint64_t begin, uint64_t units, bool value)
{
	int64_t count = 0;

	for (uint64_t i = begin; i < begin + units; i++) {
		count += value - table[i];
		table[i] = value;
	}
	return count;
}

static void changes_are_what_a_table_says(void **state)
{
	bool table[UNITS] = { false };
	uint64_t random = 88172645463325252;

	(void)state;
	rec_mapped_init();
	for (unsigned i = 0; i < ROUNDS; i++) {
		const uint64_t gone = next(&random) % UNITS, begin = next(&random) % UNITS;
		const uint64_t gone_units = next(&random) % (UNITS - gone + 1);
		const uint64_t units = next(&random) % 3 ? next(&random) % (UNITS - begin + 1) : 0;
		int64_t expected = table_set(table, gone, gone_units, false);

		expected += table_set(table, begin, units, true);
		assert_int_equal(rec_mapped_change(gone, gone_units, begin, units), expected);
	}
}

/* More ranges than there is room for are not known; those that are stay right. */
static void what_does_not_fit_is_not_counted(void **state)
{
	enum { MANY = 70000 };
	int64_t mapped = 0;

	(void)state;
	rec_mapped_init();
	for (uint64_t i = 0; i < MANY; i++)
		mapped += rec_mapped_change(0, 0, i * 2, 1);
	assert_true(mapped > MANY / 2 && mapped < MANY);
	for (uint64_t i = 0; i < MANY; i++)
		mapped += rec_mapped_change(i * 2, 1, 0, 0);
	assert_int_equal(mapped, 0);
}

static void the_end_of_memory_is_no_overflow(void **state)
{
	(void)state;
	rec_mapped_init();
	assert_int_equal(rec_mapped_change(0, 0, UINT64_MAX - 10, 100), 10);
	assert_int_equal(rec_mapped_change(UINT64_MAX - 20, UINT64_MAX, 0, 0), -10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_are_what_a_table_says),
		cmocka_unit_test(what_does_not_fit_is_not_counted),
		cmocka_unit_test(the_end_of_memory_is_no_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
