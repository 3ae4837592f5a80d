/*
 * order: bytes in memory. The tape's are little-endian on every processor: a structure of it stands
 * between ARCH_LITTLE_BEGIN and ARCH_LITTLE_END, and its members are then read and written in that
 * order by the compiler. The address of such a member may not be taken where ARCH_IS_BIG.
 */
#ifndef MEMTAPE_ARCH_ORDER_H
#define MEMTAPE_ARCH_ORDER_H

#include <stdint.h>

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
enum { ARCH_IS_BIG = 1 };
#define ARCH_LITTLE_BEGIN _Pragma("scalar_storage_order little-endian")
#define ARCH_LITTLE_END	  _Pragma("scalar_storage_order default")
#else
enum { ARCH_IS_BIG = 0 };
#define ARCH_LITTLE_BEGIN
#define ARCH_LITTLE_END
#endif

/* A word of such a structure that others read while it is written: its bytes, in that order. */
#define ARCH_LITTLE_WORD(structure, field)                                                         \
	((_Atomic uint32_t *)((uint8_t *)(structure) +                                             \
			      __builtin_offsetof(__typeof__(*(structure)), field)))

/* Of this processor's order <-> little-endian. */
static inline uint64_t arch_little_u64(uint64_t value)
{
	return ARCH_IS_BIG ? __builtin_bswap64(value) : value;
}

static inline uint32_t arch_little_u32(uint32_t value)
{
	return ARCH_IS_BIG ? __builtin_bswap32(value) : value;
}

static inline uint16_t arch_little_u16(uint16_t value)
{
	return ARCH_IS_BIG ? __builtin_bswap16(value) : value;
}

#endif
