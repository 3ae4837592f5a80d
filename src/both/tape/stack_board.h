/*
 * stack_board: where the stacks of a recorded program's threads lie, for the collector, who asks
 * the kernel from outside how far down they were used. The recorder keeps it in its own memory and
 * says in tape_live where; the collector reads it there (process_vm_readv), and a second time after
 * it has asked: a place that is the same then was that thread's all along.
 */
#ifndef MEMTAPE_TAPE_STACK_BOARD_H
#define MEMTAPE_TAPE_STACK_BOARD_H

#include "core/core.h"

enum { STACK_BOARD_PLACES = 4096 }; /* by lane */

struct stack_place {
	uint32_t tid;	 /* written last; 0: nobody's */
	uint32_t grows;	 /* the first thread's, which the kernel maps as it is touched */
	uint64_t top;	 /* address after the highest byte; 0: where the stack lies is not known */
	uint64_t limit;	 /* of the lowest it may have */
	uint64_t before; /* how far down others may have touched it; tape_stack_use */
};

static_assert(sizeof(struct stack_place) == 32, "read by another process");

#endif
