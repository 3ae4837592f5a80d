/*
 * number: arithmetic that C leaves open. Converting a double to an integer type that cannot hold it
 * is undefined, and a product of two numbers of 64 bits needs 128, which only 64-bit processors
 * have as a type (__int128). What is said here holds on all of them.
 */
#ifndef MEMTAPE_BASE_NUMBER_H
#define MEMTAPE_BASE_NUMBER_H

#include <assert.h>
#include <stdint.h>

/* Rounded down; clamped to the range of the result; NaN: 0. */
static inline uint64_t u64_of_double(double value)
{
	if (value >= 0x1p64)
		return UINT64_MAX;
	return value > 0 ? (uint64_t)value : 0;
}

struct u64_product {
	uint64_t high;
	uint64_t low;
};

/*
 * The same without a type of 128 bits: the product; product / divisor, rounded down, modulo 2^64.
 * divisor is not 0.
 */
struct u64_product number_mul_by_halves(uint64_t a, uint64_t b);
uint64_t number_div_by_halves(struct u64_product product, uint64_t divisor);

/* Exact. */
static inline struct u64_product u64_mul(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	const unsigned __int128 product = (unsigned __int128)a * b;

	return (struct u64_product) { (uint64_t)(product >> 64), (uint64_t)product };
#else
	return number_mul_by_halves(a, b);
#endif
}

/* (product + more) / divisor, rounded down, modulo 2^64; product + more < 2^128, divisor is not 0. */
static inline uint64_t u64_product_div(struct u64_product product, uint64_t more, uint64_t divisor)
{
	assert(divisor != 0);
#ifdef __SIZEOF_INT128__
	const unsigned __int128 whole = (unsigned __int128)product.high << 64 | product.low;

	return (uint64_t)((whole + more) / divisor);
#else
	product.high += __builtin_add_overflow(product.low, more, &product.low);
	return number_div_by_halves(product, divisor);
#endif
}

/* a * b / c, rounded down, modulo 2^64: exact if b <= c. c is not 0. */
static inline uint64_t u64_mul_div(uint64_t a, uint64_t b, uint64_t c)
{
	return u64_product_div(u64_mul(a, b), 0, c);
}

/* Rounded up. */
static inline uint64_t u64_mul_div_up(uint64_t a, uint64_t b, uint64_t c)
{
	return u64_product_div(u64_mul(a, b), c - 1, c);
}

/* Rounded towards 0; modulo 2^64. c is not 0. */
static inline int64_t i64_mul_div(int64_t a, int64_t b, int64_t c)
{
	const uint64_t value =
		u64_mul_div(a < 0 ? -(uint64_t)a : (uint64_t)a, b < 0 ? -(uint64_t)b : (uint64_t)b,
			    c < 0 ? -(uint64_t)c : (uint64_t)c);

	return (int64_t)((a < 0) ^ (b < 0) ^ (c < 0) ? -value : value);
}

/* a * b compared with c * d: less than 0, 0, or greater than 0. */
static inline int u64_mul_compare(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	const struct u64_product left = u64_mul(a, b), right = u64_mul(c, d);

	if (left.high != right.high)
		return left.high < right.high ? -1 : 1;
	return (left.low > right.low) - (left.low < right.low);
}

#endif
