#include "trace/tracing.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "core/hash.h"
#include "trace/code.h"
#include "trace/perf.h"
#include "trace/tracing_parts.h"

static const char *const kind_names[TAPE_KERNEL_KINDS] = {
	[TAPE_KERNEL_BRK] = "brk",
	[TAPE_KERNEL_MMAP] = "mmap",
	[TAPE_KERNEL_MUNMAP] = "munmap",
	[TAPE_KERNEL_FAULT] = "faults",
	[TAPE_KERNEL_OOM] = "oom",
	[TAPE_KERNEL_MAJOR_FAULT] = "major-faults",
	[TAPE_KERNEL_HUGE_SPLIT] = "thp-splits",
};

const char *tracing_kind_name(enum tape_kernel_kind kind)
{
	assert(kind < TAPE_KERNEL_KINDS);
	return kind_names[kind];
}

struct err *tracing_kind_check(enum tape_kernel_kind kind)
{
	struct err *err = NULL;

	for (size_t i = 0; i < KINDS_EVENTS && !err; i++) {
		struct kinds_source source = kinds_sources[i];

		if (source.kind == kind)
			err = kinds_find(&source);
		if (source.kind == kind)
			kinds_leave(&source);
	}
	return err;
}

/* --- stacks ---------------------------------------------------------------------------------- */

static struct tracing_memo *memo_place(struct tracing *trace, const struct perf_record *record)
{
	const uint64_t words[] = { record->pid, record->registers[ARCH_REG_PC],
				   record->registers[ARCH_REG_SP] };

	return &trace->memos[hash_bytes(words, sizeof(words), 1) % TRACING_MEMOS];
}

/* Whether the stack has all words on which it depends what it is. */
static bool memo_fits(const struct tracing *trace, const struct tracing_memo *memo,
		      const struct perf_record *record, bool is_exact)
{
	const uint64_t sp = record->registers[ARCH_REG_SP];

	if (!memo->trail || !memo->trail->is_known || memo->pid != (pid_t)record->pid ||
	    memo->pc != record->registers[ARCH_REG_PC] || memo->sp != sp ||
	    memo->fp != record->registers[ARCH_REG_FP] || memo->is_exact != is_exact ||
	    memo->changes != code_changes(trace->code))
		return false;
	for (size_t i = 0; i < memo->trail->count; i++) {
		const struct code_word *word = &memo->trail->words[i];
		const uint64_t at = word->address - sp;

		if (at > record->stack_bytes || record->stack_bytes - at < sizeof(word->value) ||
		    memcmp(record->stack + at, &word->value, sizeof(word->value)) != 0)
			return false;
	}
	return true;
}

static uint32_t unwind(struct tracing *trace, const struct perf_record *record, bool is_exact,
		       struct code_trail *trail)
{
	const struct code_stack stack = { record->registers, record->stack, record->stack_bytes,
					  is_exact };
	bool is_whole;
	const size_t count = code_unwind(trace->code, (pid_t)record->pid, &stack, trace->unwound,
					 &is_whole, trail);

	return trace->output.stack(trace->output.context, (pid_t)record->pid,
				   &(struct tracing_stack) { trace->unwound, count, is_whole });
}

/* TAPE_NODE_NONE if out of memory. */
static uint32_t stack_number(struct tracing *trace, const struct perf_record *record, bool is_exact)
{
	struct tracing_memo *memo = memo_place(trace, record);

	if (!record->has_registers)
		return trace->output.stack(trace->output.context, (pid_t)record->pid, NULL);
	if (memo_fits(trace, memo, record, is_exact))
		return memo->stack;
	if (!memo->trail)
		memo->trail = malloc(sizeof(*memo->trail));
	if (!memo->trail)
		return TAPE_NODE_NONE;
	*memo = (struct tracing_memo) { .pid = (pid_t)record->pid,
					.pc = record->registers[ARCH_REG_PC],
					.sp = record->registers[ARCH_REG_SP],
					.fp = record->registers[ARCH_REG_FP],
					.is_exact = is_exact,
					.changes = code_changes(trace->code),
					.trail = memo->trail };
	memo->stack = unwind(trace, record, is_exact, memo->trail);
	return memo->stack;
}

/* --- events ---------------------------------------------------------------------------------- */

static void put(struct tracing *trace, const struct perf_record *record,
		const struct tape_kernel *event, uint32_t stack)
{
	struct tracing_count *count = &trace->counts[event->kind];
	struct tracing_process *process = tracing_process_find(trace, (pid_t)record->pid);

	if (process)
		process->recent[event->kind]++;
	if (!trace->output.event(trace->output.context, record->ns, record->tid, event, stack))
		return;
	count->recorded++;
	count->bytes += event->flags & TAPE_KERNEL_FAILED ? 0 : event->bytes;
}

static uint64_t field_of(const struct tracing *trace, const struct perf_record *record,
			 size_t field)
{
	return perf_field(trace->perf, record, field);
}

static void on_fault(struct tracing *trace, const struct perf_record *record,
		     enum tape_kernel_kind kind)
{
	const struct tape_kernel event = {
		.kind = kind,
		.address = record->address,
		.bytes = trace->page_bytes,
		.flags = record->is_in_kernel ? TAPE_KERNEL_IN_KERNEL : 0,
		.pid = record->pid,
	};

	put(trace, record, &event, stack_number(trace, record, !record->is_in_kernel));
}

static void on_split(struct tracing *trace, const struct perf_record *record)
{
	const struct tape_kernel event = {
		.kind = TAPE_KERNEL_HUGE_SPLIT,
		.address = field_of(trace, record, 0),
		.bytes = trace->huge_page_bytes,
		.pid = record->pid,
	};

	put(trace, record, &event, stack_number(trace, record, false));
}

/* The call is written when its result is known. */
static struct err *on_call(struct tracing *trace, const struct perf_record *record)
{
	bool is_new;
	uint64_t *index = map_put(&trace->call_of, record->tid, &is_new);
	struct tracing_call *call;

	if (!index)
		return err_nomem();
	if (is_new)
		*index = trace->calls.count;
	call = is_new ? tracing_calls_add(&trace->calls) : &trace->calls.items[*index];
	if (!call)
		return err_nomem();
	*call = (struct tracing_call) {
		.is_open = true,
		.event = trace->events[record->source],
		.stack = stack_number(trace, record, false),
		.values = { field_of(trace, record, 0), field_of(trace, record, 1) },
	};
	return NULL;
}

static bool is_error(uint64_t result)
{
	return result >= (uint64_t)-4095;
}

static struct err *put_brk(struct tracing *trace, const struct perf_record *record, uint32_t stack,
			   uint64_t wanted, uint64_t result)
{
	struct tracing_process *process = tracing_process_put(trace, (pid_t)record->pid);
	struct tape_kernel event = { .kind = TAPE_KERNEL_BRK,
				     .address = result,
				     .pid = record->pid };

	if (!process)
		return err_nomem();
	if (wanted != 0 && result < wanted)
		event.flags |= TAPE_KERNEL_FAILED;
	if (process->heap_end && result > process->heap_end)
		event.bytes = result - process->heap_end;
	if (process->heap_end && result < process->heap_end) {
		event.bytes = process->heap_end - result;
		event.flags |= TAPE_KERNEL_SHRINK;
	}
	process->heap_end = result;
	put(trace, record, &event, stack);
	return NULL;
}

static struct err *on_result(struct tracing *trace, const struct perf_record *record,
			     enum kinds_event of)
{
	const uint64_t *index = map_find(&trace->call_of, record->tid);
	const uint64_t result = field_of(trace, record, 0);
	struct tracing_call *call = index ? &trace->calls.items[*index] : NULL;
	struct tape_kernel event = { .flags = is_error(result) ? TAPE_KERNEL_FAILED : 0,
				     .pid = record->pid };

	if (!call || !call->is_open || call->event != of)
		return NULL; /* it began before, or was left out or lost */
	call->is_open = false;
	if (of == KINDS_BRK)
		return put_brk(trace, record, call->stack, call->values[0], result);
	event.kind = of == KINDS_MMAP ? TAPE_KERNEL_MMAP : TAPE_KERNEL_MUNMAP;
	event.address = of == KINDS_MUNMAP ? call->values[0] : is_error(result) ? 0 : result;
	event.bytes =
		align_up(of == KINDS_MUNMAP ? call->values[1] : call->values[0], trace->page_bytes);
	put(trace, record, &event, call->stack);
	return NULL;
}

static struct err *on_event(struct tracing *trace, const struct perf_record *record)
{
	const struct tape_kernel victim = { .kind = TAPE_KERNEL_OOM,
					    .pid = (uint32_t)field_of(trace, record, 0) };

	switch (trace->events[record->source]) {
	case KINDS_FAULT:
		on_fault(trace, record, TAPE_KERNEL_FAULT);
		return NULL;
	case KINDS_MAJOR_FAULT:
		on_fault(trace, record, TAPE_KERNEL_MAJOR_FAULT);
		return NULL;
	case KINDS_BRK:
	case KINDS_MMAP:
	case KINDS_MUNMAP:
		return on_call(trace, record);
	case KINDS_BRK_RESULT:
		return on_result(trace, record, KINDS_BRK);
	case KINDS_MMAP_RESULT:
		return on_result(trace, record, KINDS_MMAP);
	case KINDS_MUNMAP_RESULT:
		return on_result(trace, record, KINDS_MUNMAP);
	case KINDS_OOM:
		put(trace, record, &victim, TAPE_NODE_NONE);
		return NULL;
	case KINDS_HUGE_SPLIT:
		on_split(trace, record);
		return NULL;
	case KINDS_EVENTS:
		break;
	}
	return NULL;
}

static struct err *on_named(struct tracing *trace, const struct perf_record *record)
{
	struct tracing_process *process = tracing_process_put(trace, (pid_t)record->pid);

	if (!process)
		return err_nomem();
	if (record->is_exec) {
		code_executed(trace->code, (pid_t)record->pid);
		process->heap_end = 0;
		if (trace->output.executed)
			trace->output.executed(trace->output.context, record->ns);
	}
	return tracing_name(trace, record) ? NULL : err_nomem();
}

/* Of one that ran before it was seen, what it has mapped by now. */
static bool know(struct tracing *trace, pid_t pid)
{
	return tracing_process_put(trace, pid) &&
	       (code_knows(trace->code, pid) || code_read(trace->code, pid));
}

static bool on_mapped(struct tracing *trace, const struct perf_record *record)
{
	return code_mapped(trace->code, (pid_t)record->pid,
			   &(struct code_mapping) { .begin = record->begin,
						    .end = record->end,
						    .file_offset = record->file_offset,
						    .path = record->name,
						    .build_id = record->build_id,
						    .build_id_bytes = record->build_id_bytes });
}

static struct err *on_record(void *context, const struct perf_record *record)
{
	struct tracing *trace = context;
	const pid_t pid = (pid_t)record->pid, parent = (pid_t)record->parent;

	switch (record->what) {
	case PERF_EVENT:
		return know(trace, pid) ? on_event(trace, record) : err_nomem();
	case PERF_MAPPED:
		return know(trace, pid) && on_mapped(trace, record) ? NULL : err_nomem();
	case PERF_FORKED:
		return know(trace, parent) && code_forked(trace->code, parent, pid) &&
				       tracing_forked(trace, parent, pid)
			       ? NULL
			       : err_nomem();
	case PERF_ENDED:
		code_ended(trace->code, pid);
		return NULL;
	case PERF_NAMED:
		return know(trace, pid) ? on_named(trace, record) : err_nomem();
	}
	return NULL;
}

/* --- begin and end --------------------------------------------------------------------------- */

/* The kernel's events of the kinds wanted. */
static size_t choose(struct tracing *trace, struct kinds_source sources[KINDS_EVENTS])
{
	size_t count = 0;

	for (size_t i = 0; i < KINDS_EVENTS; i++) {
		if (!(trace->settings.kinds >> kinds_sources[i].kind & 1))
			continue;
		sources[count] = kinds_sources[i];
		trace->events[count++] = (enum kinds_event)i;
	}
	trace->event_count = count;
	return count;
}

struct err *tracing_open(const struct tracing_settings *settings,
			 const struct tracing_output *output, struct tracing **tracing_ret)
{
	CLEAN(tracing_close) struct tracing *trace = calloc(1, sizeof(*trace));
	struct kinds_source sources[KINDS_EVENTS];
	struct perf_settings of = { .pid = settings->pid,
				    .is_paused_child = settings->is_paused_child,
				    .only_threads = settings->only_threads,
				    .sources = sources,
				    .period = settings->period,
				    .stack_bytes = settings->stack_bytes };
	struct err *err;

	assert(settings->kinds != 0);
	if (!trace)
		return err_nomem();
	trace->settings = *settings;
	trace->output = *output;
	trace->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	trace->huge_page_bytes = kinds_huge_page_bytes();
	trace->code = code_create();
	of.source_count = choose(trace, sources);
	err = trace->code ? perf_open(&of, &trace->perf) : err_nomem();
	if (!err && settings->pid > 0 && !settings->is_paused_child)
		err = tracing_look(trace);
	if (err)
		return err;
	*tracing_ret = steal(trace);
	return NULL;
}

struct err *tracing_begin(struct tracing *trace)
{
	return trace->settings.is_paused_child ? NULL : perf_begin(trace->perf);
}

void tracing_close(struct tracing *trace)
{
	if (!trace)
		return;
	perf_close(trace->perf);
	for (size_t i = 0; i < TRACING_MEMOS; i++)
		free(trace->memos[i].trail);
	code_destroy(trace->code);
	tracing_processes_deinit(&trace->processes);
	map_deinit(&trace->process_of);
	tracing_calls_deinit(&trace->calls);
	map_deinit(&trace->call_of);
	map_deinit(&trace->thread_names);
	interner_deinit(&trace->names);
	free(trace);
}

struct err *tracing_poll(struct tracing *trace, int ms)
{
	perf_wait(trace->perf, ms);
	return perf_take(trace->perf, false, on_record, trace);
}

void tracing_end(struct tracing *trace)
{
	perf_end(trace->perf);
}

struct err *tracing_take(struct tracing *trace)
{
	return perf_take(trace->perf, true, on_record, trace);
}

struct tracing_count tracing_count(const struct tracing *trace, enum tape_kernel_kind kind)
{
	struct tracing_count count = trace->counts[kind];
	uint64_t counted, lost;

	for (size_t i = 0; i < trace->event_count; i++) {
		if (kinds_sources[trace->events[i]].kind != kind)
			continue;
		perf_counts(trace->perf, i, &counted, &lost);
		if (kinds_sources[trace->events[i]].has_stack || kind == TAPE_KERNEL_OOM)
			count.count = counted;
		count.lost = u64_max(count.lost, lost);
	}
	return count;
}

bool tracing_is_user_only(const struct tracing *trace)
{
	return perf_is_user_only(trace->perf);
}
