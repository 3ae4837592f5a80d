/*
 * core: helpers that run anywhere, even inside a program's malloc.
 *
 * Nothing in this room allocates, locks, touches errno or calls stdio. Every function is
 * thread-safe and async-signal-safe unless it says otherwise.
 */
#ifndef MEMTAPE_CORE_CORE_H
#define MEMTAPE_CORE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "arch/order.h"
#include "core/check.h"

#define likely(x)     __builtin_expect(!!(x), 1)
#define unlikely(x)   __builtin_expect(!!(x), 0)
#define array_size(a) (sizeof(a) / sizeof((a)[0]))
#ifndef __cplusplus
#undef static_assert
#define static_assert _Static_assert /* <assert.h> stays out of the target */
#endif
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* Checked arithmetic: true means overflow, and *ret must not be used. */
static inline bool size_add_overflows(size_t a, size_t b, size_t *ret)
{
	return __builtin_add_overflow(a, b, ret);
}

static inline bool size_mul_overflows(size_t a, size_t b, size_t *ret)
{
	return __builtin_mul_overflow(a, b, ret);
}

/* Rounds up; b is not 0. */
static inline uint64_t div_up(uint64_t a, uint64_t b)
{
	CHECK(b != 0);
	return a / b + (a % b != 0);
}

/* Rounds up to a multiple of align, a power of two; a + align must not overflow. */
static inline uint64_t align_up(uint64_t a, uint64_t align)
{
	CHECK(align != 0 && (align & (align - 1)) == 0);
	return (a + align - 1) & ~(align - 1);
}

static inline uint64_t u64_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t u64_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Unaligned little-endian access. */
static inline uint64_t load_u64(const void *ptr)
{
	uint64_t value;

	memcpy(&value, ptr, sizeof(value));
	return arch_little_u64(value);
}

static inline uint32_t load_u32(const void *ptr)
{
	uint32_t value;

	memcpy(&value, ptr, sizeof(value));
	return arch_little_u32(value);
}

static inline uint16_t load_u16(const void *ptr)
{
	uint16_t value;

	memcpy(&value, ptr, sizeof(value));
	return arch_little_u16(value);
}

static inline void store_u64(void *ptr, uint64_t value)
{
	value = arch_little_u64(value);
	memcpy(ptr, &value, sizeof(value));
}

static inline void store_u32(void *ptr, uint32_t value)
{
	value = arch_little_u32(value);
	memcpy(ptr, &value, sizeof(value));
}

static inline void store_u16(void *ptr, uint16_t value)
{
	value = arch_little_u16(value);
	memcpy(ptr, &value, sizeof(value));
}

#endif
