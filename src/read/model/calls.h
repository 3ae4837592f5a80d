/*
 * calls: a program's calls and their effects, counted as glibc's memusage does - rows of functions,
 * a histogram of sizes, heap and stack after every call - from the events of a tape.
 *
 * Rows: malloc includes operator new, free includes operator delete, realloc includes reallocarray;
 * aligned allocations, which glibc does not count, have their own row. A failed call counts as a
 * call and a failure; its bytes are in no sum. A realloc counts the bytes added. Mappings, if
 * requested, count like allocations: only what had been mapped can be unmapped.
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
	CALLS_BUCKET_COUNT = 4096, /* sizes of 64 KiB and more share one more bucket */
	CALLS_BATCH = 4096,
	CALLS_NAME_BYTES = 256
};

struct calls_row {
	uint64_t calls;
	uint64_t bytes;
	uint64_t failed;
};

/* All in bytes. On a tape without stack depths stack_peak is 0 and knows_stack false. */
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
	uint64_t total_peak; /* heap plus the calling thread's stack */
	uint64_t buckets[CALLS_BUCKET_COUNT + 1];
	uint64_t sized_count; /* the sum of buckets */
	uint64_t begin_ticks;
	uint64_t end_ticks;
	uint64_t clock_hz; /* ticks per second; 0: unknown */
	uint32_t pid;
	uint32_t missing;	     /* enum tape_missing: data missing from another tool's file */
	char name[CALLS_NAME_BYTES]; /* how the program was called: end of argv[0]'s path */
	bool knows_stack;
	bool is_forked;
	bool is_counted;     /* counted by the recorder: there are no events, and no moments */
	uint32_t page_bytes; /* the kernel's; 0: not known */
	bool was_replaced;   /* its last action was an exec */
};

/* After a call that changed something. */
struct calls_moment {
	uint64_t heap;
	uint64_t stack;
	uint64_t ticks; /* unshifted clock reading */
};

struct calls_settings {
	bool has_mappings; /* count mmap and the like, too */
	/* May be NULL. At most CALLS_BATCH moments at a time; an error ends the count. */
	struct err *(*moments)(void *context, const struct calls_moment *moments, size_t count);
	void *context;
};

/* Plays a tape once, raw or packed, complete or not. Memory: what is live at once. */
struct err *calls_count(const char *tape_path, const struct calls_settings *settings,
			struct calls *calls_ret);

#endif
