/*
 * stack_board: where the stacks of a recorded program's threads are. The collector asks the kernel
 * from outside how deep they were used. The board is in the recorder's memory and its address in
 * tape_live; the collector reads it there (process_vm_readv), and again after asking the kernel: an
 * entry that has not changed belonged to that thread all along.
 */
#ifndef MEMTAPE_TAPE_STACK_BOARD_H
#define MEMTAPE_TAPE_STACK_BOARD_H

#include "core/core.h"

enum { STACK_BOARD_PLACES = 4096 }; /* index: lane */

struct stack_place {
	uint32_t tid;	 /* written last; 0: unused */
	uint32_t grows;	 /* the first thread's, which the kernel maps as it is touched */
	uint64_t top;	 /* address after the highest byte; 0: the stack's place is unknown */
	uint64_t limit;	 /* the lowest address it may grow to */
	uint64_t before; /* how far down others may have touched it; tape_stack_use */
};

static_assert(sizeof(struct stack_place) == 32, "read by another process");

#endif
