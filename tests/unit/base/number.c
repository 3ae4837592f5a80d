#include "../test.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/number.h"

static const uint64_t edges[] = {
	0,
	1,
	2,
	3,
	10,
	100,
	1000000000,
	UINT32_MAX - 1,
	UINT32_MAX,
	UINT64_C(1) << 32,
	(UINT64_C(1) << 32) + 1,
	UINT64_C(0x123456789abcdef0),
	INT64_MAX,
	UINT64_C(1) << 63,
	(UINT64_C(1) << 63) + 1,
	UINT64_C(0xffffffff00000000),
	UINT64_MAX - 1,
	UINT64_MAX,
};
enum { EDGES = sizeof(edges) / sizeof(edges[0]), RANDOM = 200000 };

/* Of all lengths. */
static uint64_t next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*state ^ *state >> 29) >> (*state >> 58);
}

/* What both ways say of three numbers; true: the same. */
static bool agree(uint64_t a, uint64_t b, uint64_t c)
{
	struct u64_product product = u64_mul(a, b), halves = number_mul_by_halves(a, b);

	if (product.high != halves.high || product.low != halves.low)
		return false;
	if (c == 0)
		return true;
	if (u64_mul_div(a, b, c) != number_div_by_halves(halves, c))
		return false;
	halves.high += __builtin_add_overflow(halves.low, c - 1, &halves.low);
	return u64_mul_div_up(a, b, c) == number_div_by_halves(halves, c);
}

static void halves_say_what_the_whole_says(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < EDGES * EDGES * EDGES; i++) {
		const uint64_t a = edges[i % EDGES], b = edges[i / EDGES % EDGES];

		if (!agree(a, b, edges[i / EDGES / EDGES]))
			fail_msg("edges %zu", i);
	}
	for (size_t i = 0; i < RANDOM; i++) {
		const uint64_t a = next(&seed), b = next(&seed), c = next(&seed);

		if (!agree(a, b, c))
			fail_msg("%" PRIu64 " * %" PRIu64 " / %" PRIu64, a, b, c);
	}
}

/* Of the division by halves this holds without another way to divide. */
static void quotients_times_the_divisor_are_the_products(void **state)
{
	uint64_t seed = 2;

	(void)state;
	for (size_t i = 0; i < RANDOM; i++) {
		const uint64_t divisor = next(&seed) | 1, quotient = next(&seed);
		struct u64_product product = number_mul_by_halves(divisor, quotient);
		const uint64_t rest = next(&seed) % divisor;

		product.high += __builtin_add_overflow(product.low, rest, &product.low);
		assert_true(number_div_by_halves(product, divisor) == quotient);
	}
}

static void products_are_exact(void **state)
{
	const uint64_t top = UINT64_MAX;

	(void)state;
	assert_true(u64_mul(top, top).high == top - 1 && u64_mul(top, top).low == 1);
	assert_true(u64_mul_div(top, top, top) == top);
	assert_true(u64_mul_div(top - 1, 100, top) == 99);
	assert_true(u64_mul_div_up(top - 1, 100, top) == 100);
	assert_true(u64_mul_div_up(0, top, 3) == 0);
	assert_true(u64_mul_div(top, 2, 1) == top - 1); /* modulo 2^64 */
	assert_true(number_div_by_halves(u64_mul(top, 2), 1) == top - 1);
}

static void signed_quotients_are_rounded_towards_0(void **state)
{
	(void)state;
	assert_true(i64_mul_div(7, 1, 2) == 3);
	assert_true(i64_mul_div(-7, 1, 2) == -3);
	assert_true(i64_mul_div(7, -1, 2) == -3);
	assert_true(i64_mul_div(7, 1, -2) == -3);
	assert_true(i64_mul_div(-7, -1, -2) == -3);
	assert_true(i64_mul_div(INT64_MIN, 3, 3) == INT64_MIN);
	assert_true(i64_mul_div(INT64_MAX, INT64_MAX, INT64_MAX) == INT64_MAX);
	assert_true(i64_mul_div(0, INT64_MIN, INT64_MIN) == 0);
}

static void products_are_compared(void **state)
{
	const uint64_t top = UINT64_MAX;

	(void)state;
	assert_true(u64_mul_compare(2, 3, 3, 2) == 0);
	assert_true(u64_mul_compare(top, 100, top, 99) > 0);
	assert_true(u64_mul_compare(top - 1, top, top, top) < 0);
	assert_true(u64_mul_compare(1, 2, top, 2) < 0);
	assert_true(u64_mul_compare(UINT64_C(1) << 32, UINT64_C(1) << 32, 0, top) > 0);
	assert_true(u64_mul_compare(5, 5, 5, 6) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves_say_what_the_whole_says),
		cmocka_unit_test(quotients_times_the_divisor_are_the_products),
		cmocka_unit_test(products_are_exact),
		cmocka_unit_test(signed_quotients_are_rounded_towards_0),
		cmocka_unit_test(products_are_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
