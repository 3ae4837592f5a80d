/*
 * threads: each thread's allocations, frees of other threads' blocks, stack and creator; and the
 * processes of a tape (processes.c).
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

/* --- processes ---------------------------------------------------------------------------------- */

struct process_sum {
	uint64_t count, bytes;
};

struct process_peak {
	uint64_t bytes;
};

struct process_row {
	uint64_t pid, ppid;
	const char *name;
	struct shape_texts argv;
	uint64_t begin_ns, end_ns;
	uint64_t exit;	    /* SHAPE_NONE: it has not ended by itself, or not known */
	const char *signal; /* that has killed it; NULL: none, or not known */
	const char *end;
	const char *start;
	uint64_t parent; /* index; SHAPE_NONE: none that is recorded */
	struct process_sum allocations;
	struct process_peak peak;
	struct process_sum leaked;
	uint64_t inherited_bytes;   /* SHAPE_NONE: not known */
	uint64_t rss, pss, private; /* SHAPE_NONE: not known */
	const char *tape;
};

struct asked;
struct err;

/*
 * The processes of the tape, rows of struct process_row in its arena. numbers_ret: what the tape's
 * MEMBER_USAGE records call each, ascending; may be NULL.
 */
struct err *process_rows_find(const struct asked *asked, struct shape_rows *rows_ret,
			      const uint64_t **numbers_ret);

/* Where the process with this number is among those of process_rows_find, or count. */
size_t process_row_of(const uint64_t *numbers, size_t count, uint64_t number);

struct processes_answer {
	struct shape_rows processes; /* struct process_row */
	struct quality quality;
};

#endif
