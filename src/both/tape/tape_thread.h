/*
 * tape_thread: records about a thread (tape.h): TAPE_EXT_THREAD_BIRTH and TAPE_EXT_STACK_USE, which the
 * recorder writes; prose in docs/tape-format.md.
 */
#ifndef MEMTAPE_TAPE_TAPE_THREAD_H
#define MEMTAPE_TAPE_TAPE_THREAD_H

#include "core/core.h"

ARCH_LITTLE_BEGIN

/* Its number matches a thread with the TAPE_EXT_THREAD_CREATE of the thread that created it. */
struct tape_thread_birth {
	uint64_t number; /* tape_thread_create.handle, where is_birth is set */
};
static_assert(sizeof(struct tape_thread_birth) == 8, "format");

/*
 * The size of a thread's stack and how deep it was used, as far as known when the record is
 * written: when the thread is first seen, periodically, and at its end or the program's. Bytes
 * count from the top, where the stack began. UINT64_MAX: unknown.
 */
struct tape_stack_use {
	uint32_t tid;		 /* owner: not always the stream's own thread */
	uint32_t flags;		 /* enum tape_stack_use_flag */
	uint64_t top;		 /* address after the highest byte */
	uint64_t reserved_bytes; /* maximum size; unknown also means unlimited */
	uint64_t seen_bytes;	 /* down to the lowest caller of an event that was on it */
	uint64_t touched_bytes;	 /* down to the lowest page ever touched */
	uint64_t before_bytes;	 /* of touched_bytes, what others may have touched before */
};

enum tape_stack_use_flag {
	TAPE_STACK_USE_FINAL = 1 << 0 /* written when the thread ended, or the program with it */
};

static_assert(sizeof(struct tape_stack_use) == 48, "format");

ARCH_LITTLE_END

#endif
