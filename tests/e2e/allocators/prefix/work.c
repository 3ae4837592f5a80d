/*
 * Calls an allocator by its own names, PREFIXmalloc and its kin, and prints for each size how many
 * blocks it got and how many of them it has freed. As a library it is run through work_run(), as a
 * program (-DPROGRAM) by itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define NAME(word)  JOIN(PREFIX, word)

void *NAME(malloc)(size_t size);
void *NAME(calloc)(size_t count, size_t each);
void *NAME(realloc)(void *ptr, size_t size);
void *NAME(aligned_alloc)(size_t align, size_t size);
int NAME(posix_memalign)(void **ptr_ret, size_t align, size_t size);
void NAME(free)(void *ptr);
#ifdef WITH_X
void *NAME(mallocx)(size_t size, int flags);
void *NAME(rallocx)(void *ptr, size_t size, int flags);
size_t NAME(xallocx)(void *ptr, size_t size, size_t extra, int flags);
void NAME(dallocx)(void *ptr, int flags);
void NAME(sdallocx)(void *ptr, size_t size, int flags);
#endif

enum { FIRST = 70001, SIZES = 16 };

static unsigned made[SIZES], freed[SIZES];

static void *took(void *ptr, size_t size)
{
	if (!ptr)
		abort();
	memset(ptr, 1, 8);
	made[size - FIRST]++;
	return ptr;
}

static void gone(size_t size)
{
	freed[size - FIRST]++;
}

__attribute__((noinline)) void *leak_some(size_t size)
{
	void *ptr = NAME(malloc)(size);

	__asm__ volatile("" ::: "memory");
	return ptr;
}

static void plain(void)
{
	void *ptr;

	for (int i = 0; i < 60; i++) {
		NAME(free)(took(NAME(malloc)(FIRST), FIRST));
		gone(FIRST);
		NAME(free)(took(NAME(calloc)(1, FIRST + 1), FIRST + 1));
		gone(FIRST + 1);
		ptr = took(NAME(malloc)(FIRST + 2), FIRST + 2);
		ptr = took(NAME(realloc)(ptr, FIRST + 3), FIRST + 3);
		gone(FIRST + 2);
		NAME(free)(ptr);
		gone(FIRST + 3);
		NAME(free)(took(NAME(realloc)(NULL, FIRST + 4), FIRST + 4));
		gone(FIRST + 4);
		NAME(free)(took(NAME(aligned_alloc)(256, FIRST + 5), FIRST + 5));
		gone(FIRST + 5);
		if (NAME(posix_memalign)(&ptr, 256, FIRST + 6) != 0)
			abort();
		NAME(free)(took(ptr, FIRST + 6));
		gone(FIRST + 6);
		NAME(free)(NULL);
	}
	for (int i = 0; i < 7; i++)
		took(leak_some(FIRST + 7), FIRST + 7);
	if (NAME(malloc)((size_t)1 << 60)) /* a call that fails */
		abort();
	/* of malloc's own, and by its own name */
	for (int i = 0; i < 9; i++) {
		free(took(malloc(FIRST + 8), FIRST + 8));
		gone(FIRST + 8);
	}
}

static void extended(void)
{
#ifdef WITH_X
	void *ptr;

	for (int i = 0; i < 30; i++) {
		ptr = took(NAME(mallocx)(FIRST + 9, 0), FIRST + 9);
		ptr = took(NAME(rallocx)(ptr, FIRST + 10, 0), FIRST + 10);
		gone(FIRST + 9);
		if (NAME(xallocx)(ptr, FIRST + 11, 0, 0) < FIRST + 11)
			abort();
		took(ptr, FIRST + 11);
		gone(FIRST + 10);
		NAME(dallocx)(ptr, 0);
		gone(FIRST + 11);
		ptr = took(NAME(mallocx)(FIRST + 12, 0), FIRST + 12);
		if (NAME(xallocx)(ptr, 10 * FIRST, 0, 0) >= 10 * FIRST) /* it stays as it is */
			abort();
		NAME(sdallocx)(ptr, FIRST + 12, 0);
		gone(FIRST + 12);
	}
#endif
}

void work_run(void)
{
	plain();
	extended();
	for (int i = 0; i < SIZES; i++)
		if (made[i])
			printf("%d %u %u\n", FIRST + i, made[i], freed[i]);
}

#ifdef PROGRAM
int main(void)
{
	work_run();
	return 0;
}
#endif
