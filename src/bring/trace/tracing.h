/*
 * tracing: what the kernel does for programs - the heap's end moved, memory mapped, page faults - with
 * the programs' stacks. Where they go is the caller's business (tracing_tape.h: to a tape).
 *
 * One thread at a time.
 */
#ifndef MEMTAPE_TRACE_TRACING_H
#define MEMTAPE_TRACE_TRACING_H

#include <sys/types.h>

#include "base/err.h"
#include "tape/tape.h"
#include "tape/tape_kernel.h"
#include "trace/code.h"

struct tracing;

struct tracing_settings {
	pid_t pid;		 /* -1: all processes */
	bool is_paused_child;	 /* see perf.h */
	bool only_threads;	 /* see perf.h */
	uint32_t kinds;		 /* set: bit 1 << enum tape_kernel_kind; not 0 */
	uint32_t period;	 /* from 1; of page faults: of each so many one is recorded */
	uint32_t stack_bytes;	 /* copied of each stack; 0: no stacks */
	const char *const *argv; /* what runs; NULL: it is looked at */
};

/* "brk", "mmap" ...; kind is less than TAPE_KERNEL_KINDS. */
const char *tracing_kind_name(enum tape_kernel_kind kind);

/* NULL: such events can be asked for here. ERR_STATE, ERR_UNSUPPORTED: why not, and what to do. */
struct err *tracing_kind_check(enum tape_kernel_kind kind);

/* Frames, the innermost first. */
struct tracing_stack {
	const struct code_frame *frames;
	size_t count;
	bool is_whole; /* the last one is the outermost of its thread */
};

/* Called in the order of time by tracing_poll and tracing_take. */
struct tracing_output {
	/*
	 * A number for the stack of events to come, which are given it as long as nothing is
	 * mapped; the stack is valid in the call. NULL: it is not known.
	 */
	uint32_t (*stack)(void *context, pid_t pid, const struct tracing_stack *stack);
	/* ns: monotonic. stack: as above, or TAPE_NODE_NONE. False: it does not count as recorded. */
	bool (*event)(void *context, uint64_t ns, uint32_t tid, const struct tape_kernel *event,
		      uint32_t stack);
	void (*executed)(void *context, uint64_t ns); /* a process is another program; or NULL */
	void *context;
};

/*
 * Ready to trace: with tracing_begin, or from the child's next execve() on. Errors: those of
 * perf_open(); ERR_NOT_FOUND: no such process.
 */
struct err *tracing_open(const struct tracing_settings *settings,
			 const struct tracing_output *output, struct tracing **tracing_ret);
void tracing_close(struct tracing *trace); /* accepts NULL */
CLEAN_DEFINE(tracing_close, struct tracing *);

struct err *tracing_begin(struct tracing *trace); /* does nothing for a paused child */

/* Waits for events, up to ms, and hands them out. To be called again at once. */
struct err *tracing_poll(struct tracing *trace, int ms);

/* Nothing is traced any more. */
void tracing_end(struct tracing *trace);

/* Hands out the rest: after tracing_end, or while what is traced stands still. */
struct err *tracing_take(struct tracing *trace);

struct tracing_count {
	uint64_t count;	   /* all that the kernel has counted */
	uint64_t recorded; /* of these */
	uint64_t lost;	   /* no room for them, or what came before */
	uint64_t bytes;	   /* of those recorded */
};

struct tracing_count tracing_count(const struct tracing *trace, enum tape_kernel_kind kind);

/* What a process had of events since the last call. */
struct tracing_recent {
	pid_t pid;
	const char *name; /* as long as the tracing */
	uint64_t count;	  /* of all kinds */
	uint64_t counts[TAPE_KERNEL_KINDS];
};

/* Those with most events, at most max; returns how many there are in recent. */
size_t tracing_recent(struct tracing *tracing, struct tracing_recent *recent, size_t max);

/* Events within system calls were not seen: who may see less. */
bool tracing_is_user_only(const struct tracing *trace);

/* Names, as long as the tracing; NULL: unknown. */
const char *tracing_process_name(const struct tracing *trace, pid_t pid);
const char *tracing_thread_name(const struct tracing *trace, uint32_t tid);

#endif
