/*
 * tracing: what the kernel does for programs - the heap's end moved, memory mapped, page faults - with
 * the programs' stacks, written as a tape while it happens.
 *
 * One thread at a time.
 */
#ifndef MEMTAPE_TRACE_TRACING_H
#define MEMTAPE_TRACE_TRACING_H

#include <sys/types.h>

#include "base/err.h"
#include "tape/tape_kernel.h"

struct tracing;

struct tracing_settings {
	pid_t pid;		 /* -1: all processes */
	bool is_paused_child;	 /* see perf.h */
	uint32_t kinds;		 /* set: bit 1 << enum tape_kernel_kind; not 0 */
	uint32_t period;	 /* from 1; of page faults: of each so many one is recorded */
	uint32_t stack_bytes;	 /* copied of each stack; 0: no stacks */
	const char *const *argv; /* what runs; NULL: it is looked at */
};

/* "brk", "mmap" ...; kind is less than TAPE_KERNEL_KINDS. */
const char *tracing_kind_name(enum tape_kernel_kind kind);

/* NULL: such events can be asked for here. ERR_STATE, ERR_UNSUPPORTED: why not, and what to do. */
struct err *tracing_kind_check(enum tape_kernel_kind kind);

/*
 * From now on, or from the child's next execve() on, it is traced. The tape appears with
 * tracing_finish. Errors: those of perf_open() and of creating files; ERR_NOT_FOUND: no such process.
 */
struct err *tracing_open(const struct tracing_settings *settings, const char *path, bool overwrite,
			 struct tracing **tracing_ret);

/* Without tracing_finish there is no tape. Accepts NULL. */
void tracing_close(struct tracing *trace);
CLEAN_DEFINE(tracing_close, struct tracing *);

/* Waits for events, up to ms, and writes them. To be called again at once. */
struct err *tracing_poll(struct tracing *trace, int ms);

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

/* Takes the rest and publishes the tape. Nothing else but tracing_close follows. */
struct err *tracing_finish(struct tracing *trace);

#endif
