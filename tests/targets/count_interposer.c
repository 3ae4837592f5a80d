/*
 * count_interposer: counts calls and bytes of the allocation functions, nothing else: the second
 * opinion on a recorder's totals. Preloaded, alone or behind the recorder.
 *
 * The counters live in the file named by COUNT_OUTPUT, which is mapped shared: they are right
 * whenever and however the process ends. struct counter by enum function, 24 bytes each. Forked
 * children count elsewhere. The C library's reallocarray calls realloc: one event, counted there.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum function {
	MALLOC,
	CALLOC,
	REALLOC,
	POSIX_MEMALIGN,
	ALIGNED_ALLOC,
	MEMALIGN,
	VALLOC,
	PVALLOC,
	FREE,
	FUNCTION_COUNT
};

struct counter {
	_Atomic uint64_t calls;
	_Atomic uint64_t bytes;
	_Atomic uint64_t failed;
};

static struct counter before_main[FUNCTION_COUNT]; /* until the file is mapped; in children */
static struct counter *_Atomic counters = before_main;

void *__libc_malloc(size_t size);
void __libc_free(void *block);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t align, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);

static void *count(enum function function, size_t bytes, void *block)
{
	struct counter *counter = &counters[function];

	atomic_fetch_add_explicit(&counter->calls, 1, memory_order_relaxed);
	if (block)
		atomic_fetch_add_explicit(&counter->bytes, bytes, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(&counter->failed, 1, memory_order_relaxed);
	return block;
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
	return count(MALLOC, size, __libc_malloc(size));
}

__attribute__((visibility("default"))) void free(void *block)
{
	if (block)
		count(FREE, 0, block);
	__libc_free(block);
}

__attribute__((visibility("default"))) void *calloc(size_t items, size_t size)
{
	return count(CALLOC, items * size, __libc_calloc(items, size));
}

/* realloc(p, 0) is a free in glibc: that is no failure. */
__attribute__((visibility("default"))) void *realloc(void *block, size_t size)
{
	void *moved = __libc_realloc(block, size);

	count(REALLOC, size, !moved && block && !size ? block : moved);
	return moved;
}

__attribute__((visibility("default"))) int posix_memalign(void **block_ret, size_t align,
							  size_t size)
{
	void *block = NULL;
	int saved = errno;

	if (align % sizeof(void *) || !align || (align & (align - 1))) {
		count(POSIX_MEMALIGN, size, NULL);
		return EINVAL;
	}
	block = __libc_memalign(align, size);
	errno = saved;
	count(POSIX_MEMALIGN, size, block);
	if (!block)
		return ENOMEM;
	*block_ret = block;
	return 0;
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t align, size_t size)
{
	return count(ALIGNED_ALLOC, size, __libc_memalign(align, size));
}

__attribute__((visibility("default"))) void *memalign(size_t align, size_t size)
{
	return count(MEMALIGN, size, __libc_memalign(align, size));
}

__attribute__((visibility("default"))) void *valloc(size_t size)
{
	return count(VALLOC, size, __libc_valloc(size));
}

__attribute__((visibility("default"))) void *pvalloc(size_t size)
{
	return count(PVALLOC, size, __libc_pvalloc(size));
}

static void stop_in_child(void)
{
	counters = before_main;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("COUNT_OUTPUT");
	struct counter *mapped = MAP_FAILED;
	int fd = path ? open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	unsetenv("COUNT_OUTPUT"); /* executed children would write over it */
	if (!ftruncate(fd, sizeof(before_main)))
		mapped = mmap(NULL, sizeof(before_main), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped == MAP_FAILED)
		return;
	memcpy(mapped, before_main, sizeof(before_main)); /* one thread yet */
	counters = mapped;
	pthread_atfork(NULL, NULL, stop_in_child);
}
