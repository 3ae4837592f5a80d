/*
 * perf: events of the kernel (perf_event_open(2)) as records in the order of time.
 *
 * One thread at a time.
 */
#ifndef MEMTAPE_TRACE_PERF_H
#define MEMTAPE_TRACE_PERF_H

#include <sys/types.h>

#include "arch/tracer.h"
#include "trace/kinds.h"

struct perf;

enum { PERF_STACK_BYTES_MAX = 65528, PERF_STACK_BYTES = 16384 };

struct perf_settings {
	pid_t pid;	      /* of a process; -1: all */
	bool is_paused_child; /* it is our child, has one thread, and traces from its next execve() on */
	bool only_threads; /* processes that it forks are not traced, where the kernel can do so */
	const struct kinds_source *sources;
	size_t source_count;  /* at most KINDS_EVENTS */
	uint32_t period;      /* every how manieth event of those with stacks is recorded; from 1 */
	uint32_t stack_bytes; /* copied of each stack; a multiple of 8 */
};

/*
 * ERR_STATE: it may not be done, ERR_NOT_FOUND: no such process, ERR_UNSUPPORTED: not by this
 * kernel. With is_user_only what happens inside system calls is not seen.
 */
struct err *perf_open(const struct perf_settings *settings, struct perf **perf_ret);
void perf_close(struct perf *perf); /* accepts NULL */
CLEAN_DEFINE(perf_close, struct perf *);

bool perf_is_user_only(const struct perf *perf);

/* Events of a process that runs are seen from now on. */
struct err *perf_begin(struct perf *perf);

/* And no more: what has been recorded can still be taken. */
void perf_end(struct perf *perf);

enum perf_what {
	PERF_EVENT,
	PERF_MAPPED, /* code, from a file */
	PERF_FORKED, /* pid is the new process or, if that is its parent, a new thread */
	PERF_ENDED,  /* a thread */
	PERF_NAMED   /* a thread; is_exec: by execve(), what it had mapped is gone */
};

/* What it points to is valid in the call only. */
struct perf_record {
	enum perf_what what;
	uint64_t ns; /* monotonic */
	uint32_t pid, tid;
	/* PERF_EVENT */
	size_t source;
	uint64_t address;
	bool is_in_kernel;
	const uint8_t *fields; /* of a tracepoint */
	size_t field_bytes;
	bool has_registers;
	uint64_t registers[ARCH_REGS]; /* by DWARF number, of the user side */
	const uint8_t *stack;	       /* from the stack pointer on */
	size_t stack_bytes;
	/* PERF_MAPPED */
	uint64_t begin, end, file_offset;
	const uint8_t *build_id; /* of the file, build_id_bytes, where the kernel says it; else 0 */
	size_t build_id_bytes;
	const char *name; /* also PERF_NAMED */
	bool is_exec;
	uint32_t parent; /* PERF_FORKED */
};

/* A field of a tracepoint's record, by its place in the source's fields. */
uint64_t perf_field(const struct perf *perf, const struct perf_record *record, size_t field);

/*
 * Calls visit for records, each once and in the order of time: those that are old enough that
 * nothing earlier can come; with is_end all. visit's error ends it.
 */
struct err *perf_take(struct perf *perf, bool is_end,
		      struct err *(*visit)(void *context, const struct perf_record *record),
		      void *context);

/* Waits until there is something to take, or this many ms. */
void perf_wait(const struct perf *perf, int ms);

/* All that the kernel has counted of a source, and what of it found no room. */
void perf_counts(const struct perf *perf, size_t source, uint64_t *count_ret, uint64_t *lost_ret);

#endif
