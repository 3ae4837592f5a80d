/*
 * count_interposer: counts calls and bytes of the allocation functions, nothing else: the second
 * opinion on a recorder's totals. Preloaded, alone or behind the recorder.
 *
 * Writes at exit, or when another image is about to be executed, to the file named by
 * COUNT_OUTPUT: one line "FUNCTION CALLS BYTES FAILED" each. Only calls from outside the library
 * are counted: the C library's reallocarray calls realloc, whose call is then counted, and
 * reallocarray's is not (it is the same event).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static const char *const NAMES[FUNCTION_COUNT] = {
	"malloc",   "calloc", "realloc", "posix_memalign", "aligned_alloc",
	"memalign", "valloc", "pvalloc", "free",
};

struct counter {
	_Atomic uint64_t calls;
	_Atomic uint64_t bytes;
	_Atomic uint64_t failed;
};

static struct counter counters[FUNCTION_COUNT];
static int output = -1;

void *__libc_malloc(size_t size);
void __libc_free(void *block);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t align, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);

static void *count(enum function function, size_t bytes, void *block)
{
	atomic_fetch_add_explicit(&counters[function].calls, 1, memory_order_relaxed);
	if (block)
		atomic_fetch_add_explicit(&counters[function].bytes, bytes, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(&counters[function].failed, 1, memory_order_relaxed);
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

/* No stdio: it allocates, and this runs when everything is being taken down. */
static void write_line(const char *name, const struct counter *counter)
{
	char line[160];
	int length = snprintf(
		line, sizeof(line), "%s %llu %llu %llu\n", name, (unsigned long long)counter->calls,
		(unsigned long long)counter->bytes, (unsigned long long)counter->failed);

	if (write(output, line, (size_t)length) != length)
		_exit(98);
}

static void write_all(void)
{
	if (output < 0)
		return;
	for (int i = 0; i < FUNCTION_COUNT; i++)
		write_line(NAMES[i], &counters[i]);
	close(output);
	output = -1;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("COUNT_OUTPUT");

	if (!path)
		return;
	unsetenv("COUNT_OUTPUT"); /* children count for themselves, or not at all */
	output = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
}

/* The last of all destructors: the library was loaded first. */
__attribute__((destructor)) static void end(void)
{
	write_all();
}

__attribute__((visibility("default"))) void _exit(int status)
{
	void (*leave)(int) = (void (*)(int))dlsym(RTLD_NEXT, "_exit");

	write_all();
	leave(status);
	__builtin_unreachable();
}
