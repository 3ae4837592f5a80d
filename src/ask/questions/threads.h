/*
 * threads: each thread's allocations, frees of other threads' blocks, stack and creator.
 */
#ifndef MEMTAPE_QUESTIONS_THREADS_H
#define MEMTAPE_QUESTIONS_THREADS_H

#include "answer/about.h"
#include "groups/handovers.h"

struct thread_row {
	struct model_thread thread;
	struct model_stack_sums sums;
	uint64_t free_count, foreign_free_count;
	uint64_t tid;
	const char *stack_known;
	uint64_t creator; /* tid; SHAPE_NONE: not known */
	uint32_t index;	  /* not a member: index in the model */
};

struct threads_answer {
	struct shape_rows threads;   /* of struct thread_row */
	struct shape_rows handovers; /* most bytes first */
	struct about about;
	struct handovers found; /* not a member */
};

#endif
