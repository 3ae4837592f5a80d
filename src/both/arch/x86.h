/*
 * x86: what i386 and x86-64 have in common; see native.h.
 */
#ifndef MEMTAPE_ARCH_X86_H
#define MEMTAPE_ARCH_X86_H

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/no_marks.h"

static inline uint64_t arch_code_address(uint64_t address)
{
	return address;
}

static inline int arch_map_flags(int flags)
{
	return flags;
}

static inline bool arch_is_call(const uint8_t *code)
{
	(void)code;
	return true;
}

static inline uint64_t arch_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* CPUID 8000_0007h, EDX, bit 8 */
static inline bool arch_ticks_are_steady(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8;
}

/* Some nanoseconds each, of a counter of some gigahertz. */
static inline uint8_t arch_ticks_shift(void)
{
	return 5;
}

static inline bool arch_exchange_u16(uint16_t *at, uint16_t *old, uint16_t next)
{
	return __atomic_compare_exchange_n(at, old, next, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static inline void arch_pause(void)
{
	__builtin_ia32_pause();
}

#endif
