/*
 * shift: moves addresses so that the originals cannot be inferred, and neighbours together: order,
 * distances and alignment (up to 64 MiB) stay.
 *
 * The used parts of the address space are noted first, by GiB; parts that are 8 GiB or more apart -
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

/* Marks the range as used; bytes may be 0. */
void shift_note(struct shift *shift, uint64_t address, uint64_t bytes);

/* Chooses distances with the kernel's random numbers, once everything is noted. */
struct err *shift_make(struct shift *shift);

/* Addresses that were not noted move with the nearest part that was. */
static inline uint64_t shift_address(const struct shift *shift, uint64_t address)
{
	const uint64_t gib = address >> 30;

	return address == 0 || gib >= SHIFT_GIB_COUNT ? address
						      : address + (uint64_t)shift->by[gib];
}

#endif
