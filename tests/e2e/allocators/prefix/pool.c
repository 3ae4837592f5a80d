/*
 * An allocator with names of its own: PREFIXmalloc and its kin, PREFIX by -DPREFIX=pool_. Its
 * blocks come from an array, never from malloc; what is freed is not used again. It calls itself by
 * name, as a library does that was built without -Bsymbolic. With -DWITH_X it has jemalloc's
 * functions, too.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define NAME(word)  JOIN(PREFIX, word)

static _Alignas(4096) char arena[64 << 20];
static size_t arena_used;

size_t NAME(malloc_usable_size)(const void *ptr)
{
	return ptr ? ((const size_t *)ptr)[-1] : 0;
}

void *NAME(aligned_alloc)(size_t align, size_t size)
{
	const size_t bytes = (size + 63) & -(size_t)64;
	size_t used, begin, end;

	if (align < 64)
		align = 64;
	used = __atomic_load_n(&arena_used, __ATOMIC_RELAXED);
	do {
		begin = (used + 16 + align - 1) & -align;
		end = begin + bytes;
		if (size > sizeof(arena) || end > sizeof(arena)) {
			errno = ENOMEM;
			return NULL;
		}
	} while (!__atomic_compare_exchange_n(&arena_used, &used, end, 0, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	((size_t *)(arena + begin))[-1] = bytes;
	return arena + begin;
}

void *NAME(malloc)(size_t size)
{
	return NAME(aligned_alloc)(64, size);
}

void NAME(free)(void *ptr)
{
	if (ptr)
		memset(ptr, 0xdd, NAME(malloc_usable_size)(ptr));
}

void *NAME(calloc)(size_t count, size_t each)
{
	void *ptr = NAME(malloc)(count * each);

	return ptr ? memset(ptr, 0, count * each) : NULL;
}

void *NAME(realloc)(void *old, size_t size)
{
	void *ptr = NAME(malloc)(size);
	const size_t usable = NAME(malloc_usable_size)(old);

	if (ptr && old) {
		memcpy(ptr, old, usable < size ? usable : size);
		NAME(free)(old);
	}
	return ptr;
}

int NAME(posix_memalign)(void **ptr_ret, size_t align, size_t size)
{
	void *ptr = NAME(aligned_alloc)(align, size);

	if (!ptr)
		return ENOMEM;
	*ptr_ret = ptr;
	return 0;
}

#ifdef WITH_X
int NAME(mallctl)(const char *name, void *old, size_t *old_len, void *new, size_t new_len)
{
	(void)name, (void)old, (void)old_len, (void)new, (void)new_len;
	return ENOENT;
}

void *NAME(mallocx)(size_t size, int flags)
{
	(void)flags;
	return NAME(malloc)(size);
}

void *NAME(rallocx)(void *ptr, size_t size, int flags)
{
	(void)flags;
	return NAME(realloc)(ptr, size);
}

size_t NAME(xallocx)(void *ptr, size_t size, size_t extra, int flags)
{
	(void)size, (void)extra, (void)flags;
	return NAME(malloc_usable_size)(ptr);
}

void NAME(dallocx)(void *ptr, int flags)
{
	(void)flags;
	NAME(free)(ptr);
}

void NAME(sdallocx)(void *ptr, size_t size, int flags)
{
	(void)size, (void)flags;
	NAME(free)(ptr);
}
#endif
