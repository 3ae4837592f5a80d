/*
 * tape_stack_use: the record TAPE_EXT_STACK_USE (tape.h), which the recorder writes; prose in
 * docs/tape-format.md.
 */
#ifndef MEMTAPE_TAPE_TAPE_STACK_USE_H
#define MEMTAPE_TAPE_TAPE_STACK_USE_H

#include "core/core.h"

/*
 * How much room a thread's stack has and how far down it was used, as far as that is known when the
 * record is written: when the thread is first seen, now and then, and at its end or the program's.
 * Bytes count from the top, where the stack began. UINT64_MAX: not known.
 */
struct tape_stack_use {
	uint32_t tid;		 /* whose: not always the stream's own thread */
	uint32_t flags;		 /* enum tape_stack_use_flag */
	uint64_t top;		 /* address after the highest byte */
	uint64_t reserved_bytes; /* that the stack may have; not known: also where there is no limit
				  */
	uint64_t seen_bytes;	 /* down to the lowest caller of an event that was on it */
	uint64_t touched_bytes;	 /* down to the lowest page ever touched */
	uint64_t before_bytes;	 /* of touched_bytes, what may have been touched by others before */
};

enum tape_stack_use_flag {
	TAPE_STACK_USE_FINAL = 1 << 0 /* told when the thread ended, or the program with it */
};

static_assert(sizeof(struct tape_stack_use) == 48, "format");

#endif
