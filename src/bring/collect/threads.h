/*
 * threads: what the collector asks of the kernel about a recorded program's threads, so that the
 * recorder in it makes no system call for that: how far down their stacks were touched, what they
 * are called, and whether one has got a seccomp filter. Where stacks lie it reads in the program's
 * memory (tape/stack_board.h): numbers that are not believed to mean anything.
 *
 * A thread that lives shorter than the time between two looks is not seen. Looks cost no more than
 * a quarter of a percent of time.
 */
#ifndef MEMTAPE_COLLECT_THREADS_H
#define MEMTAPE_COLLECT_THREADS_H

#include <stdbool.h>
#include <sys/types.h>

#include "tape/stack_board.h"
#include "tape/tape.h"
#include "tape/tape_stack_use.h"

/* Of what was recorded; records of the tape. */
struct threads_visitor {
	void (*stack)(void *context, const struct tape_stack_use *use);
	void (*name)(void *context, uint32_t tid, const char *name);
	void *context;
};

struct threads_told {
	uint32_t tid;
	char name[16];
	uint64_t touched_bytes;
};

struct threads {
	pid_t pid;
	const struct tape_live *live;
	uint32_t count;	 /* of places at this look */
	uint64_t due_ns; /* not to be looked at before that; monotonic */
	bool has_filter; /* more than the recorder found at its start; from then on */
	struct stack_place *places, *again;
	struct threads_told *told; /* by place */
};

/* live: the recorder's. Without memory for it nothing is recorded. */
void threads_open(struct threads *threads, pid_t pid, const struct tape_live *live);
void threads_close(struct threads *threads); /* all zeros is closed */

/* Looks at filters; and at the rest of what there is, when that is due. */
void threads_look(struct threads *threads, uint64_t now_ns, const struct threads_visitor *visitor);

/* At the program's end: what is known of stacks is final. */
void threads_look_last(struct threads *threads, const struct threads_visitor *visitor);

#endif
