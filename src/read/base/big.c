#include "base/big.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_BYTES = 2 << 20 };

static void *advised(void *ptr, size_t bytes)
{
	if (ptr == MAP_FAILED)
		return NULL;
	if (bytes >= HUGE_BYTES)
		(void)madvise(ptr, bytes, MADV_HUGEPAGE); /* only a hint */
	return ptr;
}

void *big_alloc(size_t bytes)
{
	if (bytes == 0)
		return NULL;
	return advised(
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		bytes);
}

#ifdef __SANITIZE_THREAD__ /* which does not know mremap(): memory that moved away stays another's */
static void *moved(void *ptr, size_t old_bytes, size_t new_bytes)
{
	void *to =
		mmap(NULL, new_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (to == MAP_FAILED)
		return to;
	memcpy(to, ptr, old_bytes < new_bytes ? old_bytes : new_bytes);
	munmap(ptr, old_bytes);
	return to;
}
#else
static void *moved(void *ptr, size_t old_bytes, size_t new_bytes)
{
	return mremap(ptr, old_bytes, new_bytes, MREMAP_MAYMOVE);
}
#endif

void *big_resize(void *ptr, size_t old_bytes, size_t new_bytes)
{
	assert(!ptr || old_bytes > 0);
	assert(new_bytes > 0);
	if (!ptr)
		return big_alloc(new_bytes);
	return advised(moved(ptr, old_bytes, new_bytes), new_bytes);
}

/* An allocation of that size gets its own mapping, which is still unwritten. */
void *big_calloc(size_t count, size_t item_bytes)
{
	uint8_t *ptr = calloc(count, item_bytes);
	const uintptr_t begin = align_up((uintptr_t)ptr, HUGE_BYTES);
	const uintptr_t end = ((uintptr_t)ptr + count * item_bytes) & -(uintptr_t)HUGE_BYTES;

	assert(item_bytes > 0);
	if (ptr && begin < end)
		(void)madvise((void *)begin, end - begin, MADV_HUGEPAGE); /* only a hint */
	return ptr;
}

void big_free(void *ptr, size_t bytes)
{
	assert(!ptr || bytes > 0);
	if (ptr)
		munmap(ptr, bytes);
}
