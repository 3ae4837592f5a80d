/*
 * conformance: a long transcript of what malloc and its family answer: return values, errno,
 * alignment, zeroing, usable sizes, sizes that must fail, the corner cases of realloc. The
 * transcript under a recorder must be the transcript without, line by line, for every libc and
 * allocator. It is about answers, not about what is right: each allocator has its own.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "target.h"

#ifdef __GLIBC__
#define HAVE_GLIBC 1
#else
#define HAVE_GLIBC 0
#endif

/* Volatile, so that no compiler knows better what a call will answer. */
static const volatile size_t SIZES[] = {
	0,	 1,	  7,	   8,	    15,	      16,     17,     23,     24,     25,
	31,	 32,	  33,	   63,	    64,	      65,     100,    127,    128,    129,
	255,	 256,	  511,	   512,	    1000,     1023,   1024,   1025,   1032,   1033,
	2000,	 4000,	  4095,	   4096,    4097,     8191,   8192,   10000,  16384,  32767,
	32768,	 65536,	  100000,  131071,  131072,   131073, 135168, 200000, 262144, 524288,
	1048576, 1048577, 3000000, 4194304, 16777216,
};

static const volatile size_t TOO_BIG[] = {
	SIZE_MAX,	  SIZE_MAX - 1,	   SIZE_MAX - 8,     SIZE_MAX - 15,	SIZE_MAX - 16,
	SIZE_MAX - 17,	  SIZE_MAX - 31,   SIZE_MAX - 4095,  SIZE_MAX - 4096,	SIZE_MAX - 65535,
	SIZE_MAX / 2 + 1, SIZE_MAX / 2,	   SIZE_MAX / 2 - 1, SIZE_MAX / 2 - 16, SIZE_MAX / 2 - 4096,
	(size_t)1 << 62,  (size_t)1 << 56, (size_t)1 << 50,
};

static const volatile size_t ALIGNS[] = { 0,
					  1,
					  2,
					  3,
					  4,
					  5,
					  7,
					  8,
					  12,
					  16,
					  24,
					  32,
					  48,
					  64,
					  100,
					  128,
					  256,
					  1000,
					  4096,
					  8192,
					  65536,
					  SIZE_MAX,
					  SIZE_MAX / 2 + 1 };

enum { SIZE_COUNT = sizeof(SIZES) / sizeof(SIZES[0]) };

static unsigned line_number;

/* What jemalloc and tcmalloc crash on is left out: alignments that are none, pvalloc. */
static int tame;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	char line[512];
	va_list args;
	int length = snprintf(line, sizeof(line), "%05u ", line_number++);

	va_start(args, format);
	length += vsnprintf(line + length, sizeof(line) - (size_t)length - 1, format, args);
	va_end(args);
	line[length++] = '\n';
	need(write(1, line, (size_t)length) == length, "write"); /* stdio would allocate */
}

/* The largest power of two up to 64 KiB that divides the address. */
static unsigned alignment_of(const void *block)
{
	unsigned align = 1;

	while (align < 65536 && (uintptr_t)block % (align * 2) == 0)
		align *= 2;
	return align;
}

static int all_zero(const unsigned char *block, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (block[i])
			return 0;
	return 1;
}

/* Blocks are aligned by chance, too: only what was asked for, or is promised, is an answer. */
static void say_block(const char *what, size_t a, size_t b, void *block, size_t align)
{
	int error = errno;

	if (align < 16 || align > 65536 || (align & (align - 1)))
		align = block && malloc_usable_size(block) >= 16 ? 16 : 8;
	if (!block) {
		say("%s(%zx, %zx) = NULL errno %d", what, a, b, error);
		return;
	}
	say("%s(%zx, %zx) aligned %d usable %zu errno %d", what, a, b, alignment_of(block) >= align,
	    malloc_usable_size(block), error);
}

/* Writes all of what may be written: a block smaller than it says is a crash or a bad neighbour. */
static void use(void *block)
{
	if (block)
		memset(block, 0xa5, malloc_usable_size(block));
}

static void check_malloc(void)
{
	for (size_t i = 0; i < SIZE_COUNT; i++) {
		void *block;

		errno = 55;
		block = keep(malloc(SIZES[i]));
		say_block("malloc", SIZES[i], 0, block, 0);
		use(block);
		errno = 56;
		free(block);
		say("free errno %d", errno);
	}
	for (size_t i = 0; i < sizeof(TOO_BIG) / sizeof(TOO_BIG[0]); i++) {
		errno = 0;
		say_block("malloc", TOO_BIG[i], 0, keep(malloc(TOO_BIG[i])), 0);
	}
	errno = 57;
	free(NULL);
	say("free(NULL) errno %d", errno);
	say("usable of NULL %zu", malloc_usable_size(NULL));
}

/* Calls with dirty memory around: zeroing must be the allocator's, not the kernel's. */
static void check_calloc(void)
{
	for (size_t i = 0; i < SIZE_COUNT; i++) {
		void *dirty = malloc(SIZES[i]);
		void *block;

		use(dirty);
		free(dirty);
		errno = 58;
		block = keep(calloc(SIZES[i], 1));
		say_block("calloc", SIZES[i], 1, block, 0);
		if (block)
			say("zero %d", all_zero(block, SIZES[i]));
		use(block);
		free(block);
		block = keep(calloc(3, SIZES[i]));
		say_block("calloc", 3, SIZES[i], block, 0);
		if (block)
			say("zero %d", all_zero(block, 3 * SIZES[i]));
		free(block);
	}
	for (size_t i = 0; i < sizeof(TOO_BIG) / sizeof(TOO_BIG[0]); i++) {
		static const volatile size_t COUNTS[] = { 0, 1, 2, 3, 16, SIZE_MAX };

		for (size_t j = 0; j < sizeof(COUNTS) / sizeof(COUNTS[0]); j++) {
			void *block;

			errno = 0;
			block = keep(calloc(TOO_BIG[i], COUNTS[j]));
			say_block("calloc", TOO_BIG[i], COUNTS[j], block, 0);
			free(block);
		}
	}
}

static int has_pattern(const unsigned char *block, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++)
		if (block[i] != (unsigned char)(i * 7 + seed))
			return 0;
	return 1;
}

static void set_pattern(unsigned char *block, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++)
		block[i] = (unsigned char)(i * 7 + seed);
}

static void check_realloc_pair(size_t from, size_t to)
{
	void *block = keep(malloc(from));
	void *moved;

	set_pattern(block, from, 3);
	errno = 59;
	moved = keep(realloc(block, to));
	say_block("realloc", from, to, moved, 0);
	if (moved)
		say("kept %d", has_pattern(moved, from < to ? from : to, 3));
	use(moved);
	if (moved || to)
		free(moved);
}

static void check_realloc(void)
{
	for (size_t i = 0; i < SIZE_COUNT; i += 3)
		for (size_t j = 1; j < SIZE_COUNT; j += 4)
			check_realloc_pair(SIZES[i], SIZES[j]);
	for (size_t i = 0; i < SIZE_COUNT; i += 5) {
		void *block;

		errno = 60;
		block = keep(realloc(keep(NULL), SIZES[i]));
		say_block("realloc from NULL", SIZES[i], 0, block, 0);
		free(block);
	}
	for (size_t i = 0; i < SIZE_COUNT; i += 7) {
		void *block = keep(malloc(SIZES[i]));

		errno = 61;
		block = keep(realloc(block, 0));
		say("realloc(%zu, 0) NULL %d errno %d", SIZES[i], block == NULL, errno);
		free(block);
	}
}

static void check_realloc_failing(void)
{
	for (size_t i = 0; i < sizeof(TOO_BIG) / sizeof(TOO_BIG[0]); i++) {
		size_t size = SIZES[i * 2 + 1];
		unsigned char *block = keep(malloc(size));
		void *same = keep(block);

		set_pattern(block, size, 9);
		errno = 0;
		say_block("realloc", size, TOO_BIG[i], keep(realloc(block, TOO_BIG[i])), 0);
		say("old block kept %d usable %zu", has_pattern(same, size, 9),
		    malloc_usable_size(same));
		block = keep(same);
		same = keep(block);
		errno = 0;
		say_block("reallocarray", TOO_BIG[i], 3, keep(reallocarray(block, TOO_BIG[i], 3)),
			  0);
		say("old block kept %d", has_pattern(same, size, 9));
		free(same);
	}
	for (size_t i = 0; i < SIZE_COUNT; i += 6) {
		void *block = keep(reallocarray(keep(NULL), 2, SIZES[i]));

		say_block("reallocarray", 2, SIZES[i], block, 0);
		use(block);
		block = keep(reallocarray(block, 5, SIZES[i] + 1));
		say_block("reallocarray", 5, SIZES[i] + 1, block, 0);
		free(block);
	}
}

static void check_aligned_size(size_t align, size_t size)
{
	int power = align && !(align & (align - 1));
	void *block = (void *)16;
	int result;

	errno = 62;
	result = posix_memalign(&block, align, size);
	if (result) {
		say("posix_memalign(%zx, %zx) = %d untouched %d errno %d", align, size, result,
		    block == (void *)16, errno);
	} else {
		say_block("posix_memalign", align, size, block, align);
		use(block);
		free(block);
	}
	if (tame && !power)
		return;
	/* What aligned_alloc does with an odd alignment differs, some round it, some refuse. */
	errno = 63;
	block = keep(aligned_alloc(align, size));
	say_block("aligned_alloc", align, size, block, power ? align : 0);
	use(block);
	free(block);
	errno = 64;
	block = keep(memalign(align, size));
	say_block("memalign", align, size, block, power ? align : 0);
	use(block);
	free(block);
}

static void check_aligned(void)
{
	for (size_t i = 0; i < sizeof(ALIGNS) / sizeof(ALIGNS[0]); i++) {
		for (size_t j = 0; j < SIZE_COUNT; j += 5)
			check_aligned_size(ALIGNS[i], SIZES[j]);
		check_aligned_size(ALIGNS[i], SIZE_MAX);
		check_aligned_size(ALIGNS[i], SIZE_MAX - 4096);
		check_aligned_size(ALIGNS[i], SIZE_MAX / 2);
	}
}

/* Zeroed also where the memory was another alignment's a moment ago. */
static void check_reuse(void)
{
	uint64_t state = 88172645463325252u;
	void *blocks[64] = { NULL };
	size_t sizes[64] = { 0 };
	unsigned bad = 0;

	for (int i = 0; i < 20000; i++) {
		unsigned slot;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		slot = state >> 8 & 63;
		if (blocks[slot])
			bad += !has_pattern(blocks[slot], sizes[slot], slot);
		free(blocks[slot]);
		sizes[slot] = state >> 16 & (state & 1 ? 127 : 16383);
		blocks[slot] = keep(state & 2 ? calloc(1, sizes[slot]) : malloc(sizes[slot]));
		need_block(blocks[slot]);
		if (state & 2)
			bad += !all_zero(blocks[slot], sizes[slot]);
		if (i % 500 == 0)
			say("round %d usable %zu", i, malloc_usable_size(blocks[slot]));
		set_pattern(blocks[slot], sizes[slot], slot);
	}
	say("bad %u", bad);
	for (int i = 0; i < 64; i++)
		free(blocks[i]);
}

static void *check_in_thread(void *arg)
{
	check_calloc();
	check_realloc_pair(100, 100000);
	return arg;
}

#if HAVE_GLIBC
static void check_glibc(void)
{
	for (size_t i = 0; i < SIZE_COUNT; i += 3) {
		void *block;

		errno = 65;
		block = keep(valloc(SIZES[i]));
		say_block("valloc", SIZES[i], 0, block, 4096);
		use(block);
		free(block);
		if (tame) /* no pvalloc of their own */
			continue;
		errno = 66;
		block = keep(pvalloc(SIZES[i]));
		say_block("pvalloc", SIZES[i], 0, block, 4096);
		use(block);
		free(block);
	}
	for (size_t i = 0; i < sizeof(TOO_BIG) / sizeof(TOO_BIG[0]); i++) {
		errno = 0;
		say_block("valloc", TOO_BIG[i], 0, keep(valloc(TOO_BIG[i])), 4096);
		if (tame)
			continue;
		errno = 0;
		say_block("pvalloc", TOO_BIG[i], 0, keep(pvalloc(TOO_BIG[i])), 4096);
	}
	say("mallopt %d %d", mallopt(M_MXFAST, 64), mallopt(M_TRIM_THRESHOLD, 1 << 20));
	say("malloc_trim %d", malloc_trim(0) >= 0);
}
#else
static void check_glibc(void)
{
}
#endif

int main(int argc, char **argv)
{
	pthread_t thread;

	tame = argc > 1 && !strcmp(argv[1], "tame");
	check_malloc();
	check_calloc();
	check_realloc();
	check_realloc_failing();
	check_aligned();
	check_glibc();
	check_reuse();
	NEED(!pthread_create(&thread, NULL, check_in_thread, NULL));
	NEED(!pthread_join(thread, NULL));
	return 0;
}
