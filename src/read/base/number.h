/*
 * number: what becomes of a number when it changes its kind. C leaves open what a double is as an
 * integer that cannot have it.
 */
#ifndef MEMTAPE_BASE_NUMBER_H
#define MEMTAPE_BASE_NUMBER_H

#include <stdint.h>

/* Rounded down; the least or the largest number there is, where it is less or more; 0: none. */
static inline uint64_t u64_of_double(double value)
{
	if (value >= 0x1p64)
		return UINT64_MAX;
	return value > 0 ? (uint64_t)value : 0;
}

#endif
