/* tracing_parts: the parts of a trace. Internal to tracing*.c. */
#ifndef MEMTAPE_TRACE_TRACING_PARTS_H
#define MEMTAPE_TRACE_TRACING_PARTS_H

#include "base/map.h"
#include "base/str.h"
#include "trace/perf.h"
#include "trace/tracing.h"

struct tracing_process {
	pid_t pid;
	uint64_t heap_end;		    /* 0: unknown */
	const char *name;		    /* of its first thread */
	uint64_t recent[TAPE_KERNEL_KINDS]; /* events since the last tracing_recent() */
};

VEC_DEFINE(tracing_processes, struct tracing_process);

/* A system call whose result is not known yet. */
struct tracing_call {
	bool is_open;
	enum kinds_event event;
	uint32_t stack;
	uint64_t values[2];
};

VEC_DEFINE(tracing_calls, struct tracing_call);

/* A stack that has been unwound, for another one like it. */
struct tracing_memo {
	pid_t pid;
	uint64_t pc, sp, fp;
	bool is_exact;
	uint64_t changes;
	struct code_trail *trail; /* NULL: none yet */
	uint32_t stack;
};

enum { TRACING_MEMOS = 64 };

struct tracing {
	struct tracing_settings settings;
	struct perf *perf;
	struct code *code;
	struct tracing_output output;
	uint64_t page_bytes, huge_page_bytes;
	enum kinds_event events[KINDS_EVENTS]; /* by perf's sources */
	size_t event_count;
	struct tracing_count counts[TAPE_KERNEL_KINDS]; /* recorded and bytes */
	struct tracing_processes processes;
	struct map process_of;
	struct tracing_calls calls;
	struct map call_of;	 /* by thread */
	struct map thread_names; /* by thread: index in names */
	struct interner names;
	struct code_frame unwound[CODE_DEPTH_MAX];
	struct tracing_memo memos[TRACING_MEMOS];
};

/* NULL: nothing is known of it. */
struct tracing_process *tracing_process_find(const struct tracing *trace, pid_t pid);
/* NULL: out of memory. */
struct tracing_process *tracing_process_put(struct tracing *trace, pid_t pid);

/* The child has what its parent has. False: out of memory. */
bool tracing_forked(struct tracing *trace, pid_t parent, pid_t pid);

/* A thread has a name. False: out of memory. */
bool tracing_name(struct tracing *trace, const struct perf_record *record);

/* What is known of a process that runs, before anything happens. */
struct err *tracing_look(struct tracing *trace);

#endif
