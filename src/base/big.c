#include "base/big.h"

#include <sys/mman.h>

enum { HUGE_BYTES = 2 << 20 };

static void *advised(void *ptr, size_t bytes)
{
	if (ptr == MAP_FAILED)
		return NULL;
	if (bytes >= HUGE_BYTES)
		(void)madvise(ptr, bytes, MADV_HUGEPAGE); /* only a wish */
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

void *big_resize(void *ptr, size_t old_bytes, size_t new_bytes)
{
	if (!ptr)
		return big_alloc(new_bytes);
	return advised(mremap(ptr, old_bytes, new_bytes, MREMAP_MAYMOVE), new_bytes);
}

void big_free(void *ptr, size_t bytes)
{
	if (ptr)
		munmap(ptr, bytes);
}
