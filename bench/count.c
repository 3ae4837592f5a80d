/*
 * count: how many events a workload has, independent of any profiler.
 *
 * A preload library that counts into the file BENCH_COUNT_FILE, mapped shared, so that the figures
 * are there however the process ends. An event is one allocation or one free; a realloc of a live
 * block is one; free(NULL) and failed calls are none. Every 1,024th event of a thread also measures
 * its depth with backtrace(). Speed does not matter here, so the counters are plain atomics.
 * Forked and exec'd children do not count: profilers do not follow them by default either.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BOOT_BYTES = 64 << 10, DEPTH_EVERY = 1024, DEPTH_MAX = 512 };

struct counters {
	_Atomic uint64_t allocations, frees, reallocs, bytes, depth_sum, depth_samples;
};

static struct counters *counters;
static pid_t owner;
static char boot[BOOT_BYTES] __attribute__((aligned(16)));
static size_t boot_used;
static __thread uint32_t tick __attribute__((tls_model("initial-exec")));
static __thread bool inside __attribute__((tls_model("initial-exec")));

static void *(*real_malloc)(size_t);
static void (*real_free)(void *);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static void *(*real_memalign)(size_t, size_t);

static bool is_boot(const void *block)
{
	return (const char *)block >= boot && (const char *)block < boot + BOOT_BYTES;
}

/* Answers while dlsym looks for the real functions; never given back. */
static void *boot_alloc(size_t bytes)
{
	void *block = boot + boot_used;

	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > BOOT_BYTES - boot_used)
		return NULL;
	boot_used += bytes;
	return block;
}

static void open_counters(void)
{
	const char *path = getenv("BENCH_COUNT_FILE");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;

	if (fd < 0)
		return;
	if (!ftruncate(fd, sizeof(*counters))) {
		void *map =
			mmap(NULL, sizeof(*counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		counters = map == MAP_FAILED ? NULL : map;
	}
	close(fd);
	owner = getpid();
}

/* By the first call, which comes from other libraries' constructors: those run before ours. */
static void resolve(void)
{
	if (real_memalign || inside)
		return;
	inside = true;
	real_free = dlsym(RTLD_NEXT, "free");
	real_calloc = dlsym(RTLD_NEXT, "calloc");
	real_realloc = dlsym(RTLD_NEXT, "realloc");
	real_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	real_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	real_malloc = dlsym(RTLD_NEXT, "malloc");
	real_memalign = dlsym(RTLD_NEXT, "memalign");
	open_counters();
	inside = false;
}

/* The program would allocate for these, were they left; and its children would be counted. */
static __attribute__((constructor)) void begin(void)
{
	resolve();
	unsetenv("LD_PRELOAD");
	unsetenv("BENCH_COUNT_FILE");
}

static void measure_depth(void)
{
	int saved = errno;
	void *stack[DEPTH_MAX];

	inside = true;
	/* Its own two frames do not belong to the program. */
	counters->depth_sum += (uint64_t)(backtrace(stack, DEPTH_MAX) - 2);
	counters->depth_samples++;
	inside = false;
	errno = saved;
}

static void count(_Atomic uint64_t *counter, size_t bytes)
{
	if (inside || (++tick % DEPTH_EVERY == 0 && getpid() != owner))
		return;
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
	if (bytes)
		atomic_fetch_add_explicit(&counters->bytes, bytes, memory_order_relaxed);
	if (tick % DEPTH_EVERY == 0)
		measure_depth();
}

static void *counted(void *block, size_t bytes)
{
	if (block && counters)
		count(&counters->allocations, bytes);
	return block;
}

void *malloc(size_t bytes)
{
	resolve();
	return real_malloc ? counted(real_malloc(bytes), bytes) : boot_alloc(bytes);
}

void free(void *block)
{
	if (!block || is_boot(block))
		return;
	resolve();
	if (counters)
		count(&counters->frees, 0);
	real_free(block);
}

void *calloc(size_t n, size_t bytes)
{
	resolve();
	return real_calloc ? counted(real_calloc(n, bytes), n * bytes) : boot_alloc(n * bytes);
}

void *realloc(void *block, size_t bytes)
{
	void *moved;

	resolve();
	if (is_boot(block)) {
		moved = malloc(bytes);
		return moved ? memcpy(moved, block, bytes) : NULL;
	}
	moved = real_realloc(block, bytes);
	if (counters && block && (moved || !bytes))
		count(bytes ? &counters->reallocs : &counters->frees, bytes);
	return block ? moved : counted(moved, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
	int error;

	resolve();
	error = real_posix_memalign(block, alignment, bytes);
	if (!error)
		counted(*block, bytes);
	return error;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	resolve();
	return counted(real_aligned_alloc(alignment, bytes), bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
	resolve();
	return counted(real_memalign(alignment, bytes), bytes);
}
