/*
 * count_interposer: counts calls and bytes of the allocation functions, nothing else: the second
 * opinion on a recorder's totals. Preloaded, alone or behind the recorder.
 *
 * The counters live in the file named by COUNT_OUTPUT, which is mapped shared: they are right
 * whenever and however the process ends. struct counter by enum function, 24 bytes each. Forked
 * children count elsewhere: with COUNT_FOLDER each program of each process has a file there, PID.0,
 * PID.1 and so on, which is begun by a fork or an exec. The C library's reallocarray calls realloc:
 * one event, counted there.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
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

static char folder[4000]; /* of COUNT_FOLDER; "": not set */

static int open_of_folder(void)
{
	char path[sizeof(folder) + 40];

	for (int i = 0; i < 100; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%d.%d", folder, (int)getpid(), i);
		fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static void count_into(int fd)
{
	struct counter *mapped = MAP_FAILED;

	if (fd < 0)
		return;
	if (!ftruncate(fd, sizeof(before_main)))
		mapped = mmap(NULL, sizeof(before_main), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped == MAP_FAILED)
		return;
	memcpy(mapped, before_main, sizeof(before_main)); /* one thread yet */
	counters = mapped;
}

static void begin_in_child(void)
{
	const int saved = errno;

	memset(before_main, 0, sizeof(before_main));
	counters = before_main;
	if (*folder)
		count_into(open_of_folder());
	errno = saved;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("COUNT_OUTPUT"), *place = getenv("COUNT_FOLDER");

	if (place && strlen(place) < sizeof(folder)) {
		strcpy(folder, place);
		count_into(open_of_folder());
	} else if (path) {
		count_into(open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600));
		unsetenv("COUNT_OUTPUT"); /* executed children would write over it */
	}
	if (counters != before_main)
		pthread_atfork(NULL, NULL, begin_in_child);
}
