/*
 * code: memory that the program made executable itself: a JIT compiler's code. It has no unwind
 * tables, but mostly keeps frame pointers; a walk that follows one must know whether it reached
 * code (stack.c).
 *
 * Ranges only grow and are never removed: one that is too large makes a walk slightly more
 * credulous. No locks: if two threads add the same range at once it is listed twice.
 */
#include "rec/rec.h"

#include <stdatomic.h>

#include "core/poison.h"

enum { RANGES_MAX = 64 };

struct code_range {
	_Atomic uint64_t begin;
	_Atomic uint64_t end; /* 0: not filled yet */
};

static struct code_range ranges[RANGES_MAX];
static _Atomic uint32_t range_count;

static void range_grow(struct code_range *range, uint64_t begin, uint64_t end)
{
	uint64_t old = atomic_load(&range->begin);

	while (begin < old && !atomic_compare_exchange_weak(&range->begin, &old, begin))
		;
	old = atomic_load(&range->end);
	while (end > old && !atomic_compare_exchange_weak(&range->end, &old, end))
		;
}

/* 0: they touch or overlap. */
static uint64_t range_distance(const struct code_range *range, uint64_t begin, uint64_t end)
{
	const uint64_t range_begin = atomic_load(&range->begin);
	const uint64_t range_end = atomic_load(&range->end);

	if (end < range_begin)
		return range_begin - end;
	return begin > range_end ? begin - range_end : 0;
}

void rec_code_add(uint64_t begin, uint64_t bytes)
{
	const uint64_t end = begin + bytes;
	uint32_t count = (uint32_t)u64_min(atomic_load(&range_count), RANGES_MAX);
	uint64_t least = UINT64_MAX;
	uint32_t nearest = 0;

	if (bytes == 0 || end < begin)
		return;
	for (uint32_t i = 0; i < count && least > 0; i++) {
		const uint64_t distance = range_distance(&ranges[i], begin, end);

		if (distance < least) {
			least = distance;
			nearest = i;
		}
	}
	while (least > 0 && count < RANGES_MAX) {
		if (!atomic_compare_exchange_weak(&range_count, &count, count + 1))
			continue;
		atomic_store(&ranges[count].begin, begin);
		atomic_store(&ranges[count].end, end);
		return;
	}
	range_grow(&ranges[nearest], begin, end);
}

bool rec_code_holds(uint64_t pc)
{
	const uint32_t count = atomic_load_explicit(&range_count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++)
		if (pc >= atomic_load_explicit(&ranges[i].begin, memory_order_relaxed) &&
		    pc < atomic_load_explicit(&ranges[i].end, memory_order_relaxed))
			return true;
	return false;
}
