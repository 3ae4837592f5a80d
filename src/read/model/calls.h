/*
 * calls: what a program called and what came of it, counted as glibc's memusage counts - rows of
 * functions, a histogram of sizes, heap and stack after every call - from the events of a tape.
 *
 * Rows: malloc has operator new, free has operator delete, realloc has reallocarray; aligned
 * allocations, which glibc does not count at all, have a row of their own. A call that failed is a
 * call and a failure; its bytes are in no sum. A realloc counts the bytes it has added. Mappings,
 * where they are wanted, count like allocations: what is unmapped is what had been mapped.
 *
 * In a forked child blocks of the parent are unknown: their frees are calls without bytes.
 */
#ifndef MEMTAPE_MODEL_CALLS_H
#define MEMTAPE_MODEL_CALLS_H

#include "base/err.h"

enum calls_row_id {
	CALLS_MALLOC,
	CALLS_REALLOC,
	CALLS_CALLOC,
	CALLS_ALIGNED,
	CALLS_FREE,
	CALLS_MMAP_READ,
	CALLS_MMAP_WRITE,
	CALLS_MMAP_ANONYMOUS,
	CALLS_MREMAP,
	CALLS_MUNMAP,
	CALLS_ROW_COUNT
};

enum {
	CALLS_BUCKET_BYTES = 16,
	CALLS_BUCKET_COUNT = 4096, /* sizes of 64 KiB and more are in one more bucket */
	CALLS_BATCH = 4096,
	CALLS_NAME_BYTES = 256
};

struct calls_row {
	uint64_t calls;
	uint64_t bytes;
	uint64_t failed;
};

/* All in bytes. A tape that has no depths of stacks has stack_peak 0 and knows_stack false. */
struct calls {
	struct calls_row rows[CALLS_ROW_COUNT];
	uint64_t realloc_nomove;
	uint64_t realloc_dec;
	uint64_t realloc_free;
	uint64_t mremap_nomove;
	uint64_t mremap_dec;
	uint64_t heap_total;
	uint64_t heap_peak;
	uint64_t stack_peak;
	uint64_t total_peak; /* heap and, of the thread that called, stack */
	uint64_t buckets[CALLS_BUCKET_COUNT + 1];
	uint64_t sized_count; /* the sum of buckets */
	uint64_t begin_ticks;
	uint64_t end_ticks;
	uint64_t clock_hz; /* ticks a second; 0: not known */
	uint32_t pid;
	uint32_t missing; /* enum tape_missing: what a tape of another tool's file has not */
	char name[CALLS_NAME_BYTES]; /* how the program was called: end of argv[0]'s path */
	bool knows_stack;
	bool is_forked;
	bool is_counted;   /* by the recorder: there are no events, and no moments */
	bool was_replaced; /* an exec was the last thing it did */
};

/* After a call that changed something. */
struct calls_moment {
	uint64_t heap;
	uint64_t stack;
	uint64_t ticks; /* of the clock as it is read, not shifted */
};

struct calls_settings {
	bool has_mappings; /* count mmap and its kin, too */
	/* May be NULL. At most CALLS_BATCH moments at a time; an error ends the count. */
	struct err *(*moments)(void *context, const struct calls_moment *moments, size_t count);
	void *context;
};

/* Plays a tape once, raw or packed, whole or torn. Memory: what is alive at once. */
struct err *calls_count(const char *tape_path, const struct calls_settings *settings,
			struct calls *calls_ret);

#endif
