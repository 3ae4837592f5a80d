/*
 * own_malloc: a program that defines malloc itself: a bump allocator that must not be disturbed.
 *
 * The executable's symbols come before any preloaded library's, so nothing of it needs to be on
 * the tape; but it must work, and the recorder must not end up in a malloc that is half there.
 */
#include <string.h>
#include <unistd.h>

#include "target.h"

static _Alignas(16) char pool[8 << 20];
static size_t pool_used;
static unsigned malloc_count, free_count;

__attribute__((used)) void *malloc(size_t size)
{
	size_t *header;

	size = (size + 31) & ~(size_t)15;
	if (size > sizeof(pool) - pool_used)
		return NULL;
	header = (size_t *)(void *)(pool + pool_used);
	pool_used += size;
	malloc_count++;
	header[0] = size - 16;
	return header + 2;
}

__attribute__((used)) void free(void *block)
{
	if (block)
		free_count++;
}

__attribute__((used)) void *calloc(size_t count, size_t size)
{
	size_t bytes;
	void *block = __builtin_mul_overflow(count, size, &bytes) ? NULL : malloc(bytes);

	return block ? memset(block, 0, bytes) : NULL;
}

__attribute__((used)) void *realloc(void *old, size_t size)
{
	void *block = malloc(size);
	size_t old_size = old ? ((size_t *)old)[-2] : 0;

	if (block && old)
		memcpy(block, old, old_size < size ? old_size : size);
	return block;
}

int main(void)
{
	unsigned before = malloc_count;

	for (int i = 0; i < 1000; i++)
		free(need_block(malloc(1601)));
	if (malloc_count - before != 1000)
		_exit(1);
	free(need_block(realloc(need_block(strdup("own")), 1602)));
	puts("own malloc 1000");
	return 0;
}
