/*
 * no_ticks: of processors with no counter that serves; see native.h. ARM's may be read by programs only where
 * the kernel lets them, and on MIPS each processor has one of its own.
 */
#ifndef MEMTAPE_ARCH_NO_TICKS_H
#define MEMTAPE_ARCH_NO_TICKS_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t arch_ticks(void)
{
	return 0;
}

static inline bool arch_ticks_are_steady(void)
{
	return false;
}

static inline uint8_t arch_ticks_shift(void)
{
	return 0;
}

#endif
