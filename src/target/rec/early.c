/* early: a pool that serves allocations before the real functions are known. */
#include "rec/rec.h"

#include <stdatomic.h>

#include "core/poison.h"

enum { POOL_HEADER = 16 };

/* Bump allocator; each block is preceded by its size. Never freed. */
_Alignas(4096) uint8_t rec_pool[REC_POOL_BYTES];
static _Atomic size_t pool_used;

void *rec_pool_alloc(size_t bytes, size_t align)
{
	size_t used = atomic_load(&pool_used);
	size_t begin;
	size_t end;

	if (align < 16)
		align = 16;
	do {
		if (size_add_overflows(used, POOL_HEADER + align - 1, &begin))
			return NULL;
		begin &= ~(align - 1);
		if (size_add_overflows(begin, bytes, &end) || end > REC_POOL_BYTES)
			return NULL;
	} while (!atomic_compare_exchange_weak(&pool_used, &used, end));
	store_u64(rec_pool + begin - POOL_HEADER, bytes);
	return rec_pool + begin;
}

size_t rec_pool_usable(const void *ptr)
{
	CHECK(rec_pool_owns(ptr));
	return (size_t)load_u64((const uint8_t *)ptr - POOL_HEADER);
}
