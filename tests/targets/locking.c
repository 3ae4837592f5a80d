/*
 * locking: a malloc of its own that takes its memory from the system with its lock held, in a
 * program or (LOCKING_LIBRARY) in a library to be preloaded. The lock is a plain one: whoever comes
 * back into this malloc from a mapping would wait for itself for ever; here it says so instead.
 *
 * Nothing of it needs to be on the tape but the mappings; it must work as without a recorder.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target.h"

enum { HEADER_BYTES = 16, LOCKED_BYTES = 1 << 20 };

#define EXPORTED __attribute__((used, visibility("default"), noinline))

static _Atomic int owner;
static char *area;
static size_t area_used = LOCKED_BYTES;

static void lock_area(void)
{
	const int self = (int)syscall(SYS_gettid);
	int nobody = 0;

	while (!atomic_compare_exchange_weak(&owner, &nobody, self)) {
		if (nobody == self) {
			static const char text[] =
				"locking: malloc was called with its lock held\n";

			_exit(write(2, text, sizeof(text) - 1) > 0 ? 3 : 4);
		}
		nobody = 0;
	}
}

/* Everything an allocator may ask of the system. */
static void area_next(void)
{
	char *old = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	area = mmap(NULL, LOCKED_BYTES / 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED || old == MAP_FAILED || munmap(old, 4096) != 0)
		_exit(5);
	if (mprotect(area, LOCKED_BYTES / 2, PROT_READ | PROT_WRITE) != 0)
		_exit(6);
	area = mremap(area, LOCKED_BYTES / 2, LOCKED_BYTES, MREMAP_MAYMOVE);
	if (area == MAP_FAILED || madvise(area, LOCKED_BYTES, MADV_DONTNEED) != 0)
		_exit(7);
	if (sbrk(4096) == (void *)-1)
		_exit(8);
	area_used = 0;
}

EXPORTED void *malloc(size_t size)
{
	char *block = NULL;

	size = (size + HEADER_BYTES + 15) & ~(size_t)15;
	lock_area();
	if (size <= LOCKED_BYTES && area_used + size > LOCKED_BYTES)
		area_next();
	if (size <= LOCKED_BYTES) {
		block = area + area_used;
		area_used += size;
		*(size_t *)(void *)block = size - HEADER_BYTES;
		/* What glibc's malloc_usable_size() makes sense of: a mapped block. */
		*(size_t *)(void *)(block + 8) = size | 2;
	}
	atomic_store(&owner, 0);
	return block ? block + HEADER_BYTES : NULL;
}

EXPORTED void free(void *block)
{
	lock_area();
	if (block)
		memset(block, 0xdd, ((size_t *)block)[-2]);
	atomic_store(&owner, 0);
}

EXPORTED void *calloc(size_t count, size_t size)
{
	size_t bytes;
	void *block = __builtin_mul_overflow(count, size, &bytes) ? NULL : malloc(bytes);

	return block ? memset(block, 0, bytes) : NULL;
}

EXPORTED void *realloc(void *old, size_t size)
{
	void *block = malloc(size);
	size_t old_size = old ? ((size_t *)old)[-2] : 0;

	if (block && old)
		memcpy(block, old, old_size < size ? old_size : size);
	return block;
}

#ifndef LOCKING_LIBRARY
static void *work(void *nothing)
{
	for (int i = 0; i < 20000; i++)
		free(need_block(malloc(3401)));
	return nothing;
}

int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	puts("locking");
	return 0;
}
#endif
