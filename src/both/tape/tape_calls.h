/*
 * tape_calls: the records TAPE_EXT_CALLS and TAPE_EXT_CALL_SIZES (tape.h): counts kept by the
 * recorder itself; prose in docs/tape-format.md.
 */
#ifndef MEMTAPE_TAPE_TAPE_CALLS_H
#define MEMTAPE_TAPE_TAPE_CALLS_H

#include "core/core.h"

ARCH_LITTLE_BEGIN

/*
 * Calls that are counted instead of recorded one by one: those of the stream since the chunk began.
 * Updated in place while the chunk is open.
 */
enum tape_calls_row_id {
	TAPE_CALLS_MALLOC, /* and operator new */
	TAPE_CALLS_REALLOC,
	TAPE_CALLS_CALLOC,
	TAPE_CALLS_ALIGNED, /* posix_memalign and the like, and aligned operator new */
	TAPE_CALLS_FREE,
	TAPE_CALLS_MMAP_READ,
	TAPE_CALLS_MMAP_WRITE,
	TAPE_CALLS_MMAP_ANONYMOUS,
	TAPE_CALLS_MREMAP,
	TAPE_CALLS_MUNMAP,
	TAPE_CALLS_ROW_COUNT
};

struct tape_calls_row {
	uint64_t calls;
	uint64_t bytes; /* of those that succeeded; realloc: by how much blocks grew */
	uint64_t failed;
};

struct tape_calls {
	struct tape_calls_row rows[TAPE_CALLS_ROW_COUNT];
	uint64_t realloc_nomove;
	uint64_t realloc_dec;
	uint64_t realloc_free;
	uint64_t mremap_nomove;
	uint64_t mremap_dec;
	uint64_t heap_peak;  /* of the process, as far as this stream was the one to reach it */
	uint64_t stack_peak; /* of the stream's threads */
	uint64_t large;	     /* blocks larger than all of the sizes */
};

enum { TAPE_CALL_SIZES_BYTES = 16, TAPE_CALL_SIZES_COUNT = 512, TAPE_CALL_SIZES_PARTS = 8 };

/* Number of allocations of (first + i) * 16 to (first + i) * 16 + 15 bytes. */
struct tape_call_sizes {
	uint32_t first;
	uint32_t reserved;
	uint64_t counts[TAPE_CALL_SIZES_COUNT];
};

static_assert(sizeof(struct tape_calls) == 304, "format");
static_assert(sizeof(struct tape_call_sizes) == 4104, "format");

ARCH_LITTLE_END

#endif
