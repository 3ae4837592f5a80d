#include "../test.h"

#include "core/hash.h"

static uint8_t sample[256];

static void fill_sample(void)
{
	for (size_t i = 0; i < sizeof(sample); i++)
		sample[i] = (uint8_t)(i * 37 + 11);
}

/* The checksum is part of the format: these numbers are on tapes already. */
static void the_checksum_never_changes(void **state)
{
	(void)state;
	fill_sample();
	assert_true(hash_bytes("", 0, 0) == UINT64_C(0x74974f2c2a149a31));
	assert_true(hash_bytes("memtape", 7, 0) == UINT64_C(0x87521e55ac021633));
	assert_true(hash_bytes(sample, sizeof(sample), 0) == UINT64_C(0x143f2ada2e6df222));
	assert_true(hash_bytes(sample, sizeof(sample), 42) == UINT64_C(0xa922cd3cb8829ac4));
}

static void every_flipped_bit_changes_the_checksum(void **state)
{
	uint64_t whole;

	(void)state;
	fill_sample();
	whole = hash_bytes(sample, sizeof(sample), 0);
	for (size_t bit = 0; bit < sizeof(sample) * 8; bit++) {
		sample[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_true(hash_bytes(sample, sizeof(sample), 0) != whole);
		sample[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static void a_missing_zero_at_the_end_changes_the_checksum(void **state)
{
	static const uint8_t zeros[64];

	(void)state;
	for (size_t len = 1; len < sizeof(zeros); len++)
		assert_true(hash_bytes(zeros, len, 0) != hash_bytes(zeros, len - 1, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_checksum_never_changes),
		cmocka_unit_test(every_flipped_bit_changes_the_checksum),
		cmocka_unit_test(a_missing_zero_at_the_end_changes_the_checksum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
