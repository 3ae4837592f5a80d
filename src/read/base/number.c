#include "base/number.h"

#include <stdbool.h>

struct u64_product number_mul_by_halves(uint64_t a, uint64_t b)
{
	const uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
	const uint64_t low = a_low * b_low;
	/* At most (2^32 - 1)^2 + 2 * (2^32 - 1) = 2^64 - 1: neither sum overflows. */
	const uint64_t middle = a_high * b_low + (low >> 32);
	const uint64_t other = a_low * b_high + (uint32_t)middle;

	return (struct u64_product) { a_high * b_high + (middle >> 32) + (other >> 32),
				      other << 32 | (uint32_t)low };
}

uint64_t number_div_by_halves(struct u64_product product, uint64_t divisor)
{
	uint64_t low = product.low, rest;

	assert(divisor != 0);
	if (product.high == 0)
		return product.low / divisor;
	rest = product.high % divisor; /* what this leaves out is a multiple of 2^64 */
	for (unsigned bit = 0; bit < 64; bit++) {
		const bool is_wide = rest >> 63;

		rest = rest << 1 | low >> 63;
		low <<= 1; /* bits of the quotient follow those of the product */
		if (is_wide || rest >= divisor) {
			rest -= divisor;
			low |= 1;
		}
	}
	return low;
}
