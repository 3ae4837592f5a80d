/*
 * threads: what the collector reads from the kernel about a recorded program's threads, so that the
 * recorder in it needs no system calls for that: how deep their stacks were touched, their names,
 * and whether one has installed a seccomp filter. The location of stacks is read from the program's
 * memory (tape/stack_board.h), whose numbers are untrusted.
 *
 * A thread that lives shorter than the interval between two passes is not seen. Passes cost at most
 * a quarter of a percent of the time.
 */
#ifndef MEMTAPE_COLLECT_THREADS_H
#define MEMTAPE_COLLECT_THREADS_H

#include <stdbool.h>
#include <sys/types.h>

#include "tape/stack_board.h"
#include "tape/tape.h"
#include "tape/tape_thread.h"

/* Receives what was recorded; records of the tape. */
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
	uint32_t count;	 /* number of places at this pass */
	uint64_t due_ns; /* no pass before that; monotonic */
	bool has_filter; /* more than the recorder found at its start; sticks */
	struct stack_place *places, *again;
	struct threads_told *told; /* by place */
};

/* live: the recorder's. If out of memory, nothing is recorded. */
void threads_open(struct threads *threads, pid_t pid, const struct tape_live *live);
void threads_close(struct threads *threads); /* all zeros is closed */

/* Where stacks are now, as far as known; valid until the next call. */
const struct stack_place *threads_places(struct threads *threads, size_t *count_ret);

/* Checks for filters; and examines the rest when due. */
void threads_look(struct threads *threads, uint64_t now_ns, const struct threads_visitor *visitor);

/* At the program's end: values of stacks become final. */
void threads_look_last(struct threads *threads, const struct threads_visitor *visitor);

#endif
