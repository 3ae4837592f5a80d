/*
 * number: conversions between kinds of numbers. In C, converting a double to an integer type that
 * cannot hold it is undefined.
 */
#ifndef MEMTAPE_BASE_NUMBER_H
#define MEMTAPE_BASE_NUMBER_H

#include <stdint.h>

/* Rounded down; clamped to the range of the result; NaN: 0. */
static inline uint64_t u64_of_double(double value)
{
	if (value >= 0x1p64)
		return UINT64_MAX;
	return value > 0 ? (uint64_t)value : 0;
}

#endif
