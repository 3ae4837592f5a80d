/*
 * shift: addresses moved where nobody can tell where they were, and everything that is near each
 * other moved together: order, distances and alignment (up to 64 MiB) stay.
 *
 * What is used of the address space is noted first, by GiB; parts that are 8 GiB or more apart -
 * the program with its heap, the libraries with the mappings and stacks - are moved independently,
 * by random distances that keep them in their order and apart. Addresses of the kernel's half and 0
 * stay.
 */
#ifndef MEMTAPE_CAPTURE_SHIFT_H
#define MEMTAPE_CAPTURE_SHIFT_H

#include "base/err.h"
#include "core/core.h"

enum { SHIFT_GIB_COUNT = 1 << 17 }; /* of user space */

struct shift {
	uint64_t used[SHIFT_GIB_COUNT / 64];
	int64_t by[SHIFT_GIB_COUNT]; /* of addresses in this GiB; shift_make fills it in */
};

/* The range is used; bytes may be 0. */
void shift_note(struct shift *shift, uint64_t address, uint64_t bytes);

/* Chooses distances by the kernel's random numbers, when all is noted. */
struct err *shift_make(struct shift *shift);

/* Addresses that were not noted are moved with what is nearest below them. */
static inline uint64_t shift_address(const struct shift *shift, uint64_t address)
{
	const uint64_t gib = address >> 30;

	return address == 0 || gib >= SHIFT_GIB_COUNT ? address
						      : address + (uint64_t)shift->by[gib];
}

#endif
