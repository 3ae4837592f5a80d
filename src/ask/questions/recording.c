/*
 * recording: describes a tape: how it was written, of which process, its modules and threads,
 * losses, and the cost of recording. The answer of `memtape info` for one tape.
 */
#include <assert.h>
#include <time.h>

#include "answer/about.h"
#include "answer/program.h"
#include "arch/machine.h"
#include "capture/capture.h"
#include "questions/questions.h"
#include "questions/recording_notes.h"

enum { NS_PER_S = 1000000000 };

struct tape_facts {
	uint64_t version;
	const char *kind;
	uint64_t file_bytes, chunks, streams, events, record_bytes, stack_nodes, stacks;
	const char *clock;
	bool alloc_stacks, free_stacks, forked, attached;
	const char *uuid;
};

struct process_facts {
	uint64_t pid, parent_pid;
	const char *machine, *exe, *cwd;
	struct shape_texts argv;
	const char *started;
	uint64_t duration_ns;
	const char *end;
	int64_t end_status;
	uint64_t page_bytes, pointer_bytes;
};

struct loss_facts {
	uint64_t lost_events, no_space, nested, no_thread, startup, truncated_stacks, stopped,
		missing_chunks, damaged_places;
	const char *fault;
};

struct recorder_facts {
	uint64_t selfchecks, selfcheck_differences, private_bytes, chunk_bytes, slow_ns,
		collector_cpu_ns;
};

struct thread_facts {
	uint64_t tid;
	const char *name;
	uint64_t begin_ns, end_ns;
};

struct module_facts {
	uint64_t begin, end, bias, bytes;
	const char *build_id, *path;
	uint64_t load_ns, unload_ns;
};

struct recording {
	struct tape_facts tape;
	struct process_facts process;
	struct recording_notes notes;
	const struct import *import;
	const struct attached *attached;
	struct loss_facts losses;
	struct recorder_facts recorder;
	struct shape_rows threads, modules;
};

/* --- shapes --------------------------------------------------------------------------------- */

static const char *const kind_words[] = { "raw", "packed", NULL };
static const char *const clock_words[] = { "monotonic", "tsc", "cntvct", "counter", NULL };

static const struct member tape_members[] = {
	MEMBER(struct tape_facts, version, PLAIN, "of the format"),
	MEMBER(struct tape_facts, kind, TEXT, NULL, .words = kind_words),
	MEMBER(struct tape_facts, file_bytes, BYTES, NULL),
	MEMBER(struct tape_facts, chunks, COUNT, NULL),
	MEMBER(struct tape_facts, streams, COUNT, "of threads and the collector, with a chunk"),
	MEMBER(struct tape_facts, events, COUNT, NULL),
	MEMBER(struct tape_facts, record_bytes, BYTES, "of events, unpacked"),
	MEMBER(struct tape_facts, stack_nodes, COUNT, "frames on the tape"),
	MEMBER(struct tape_facts, stacks, COUNT, "the same, equal ones once"),
	MEMBER(struct tape_facts, clock, TEXT, NULL, .words = clock_words),
	MEMBER(struct tape_facts, alloc_stacks, FLAG, "allocations have stacks"),
	MEMBER(struct tape_facts, free_stacks, FLAG, "frees have stacks"),
	MEMBER(struct tape_facts, forked, FLAG, "the process is a forked child"),
	MEMBER(struct tape_facts, attached, FLAG, "recording began while it ran"),
	MEMBER(struct tape_facts, uuid, TEXT, "hexadecimal digits", .nullable = true),
};
static const struct shape shape_tape = SHAPE("RecordingTape", struct tape_facts, tape_members);

static const struct member process_members[] = {
	MEMBER(struct process_facts, pid, PLAIN, NULL),
	MEMBER(struct process_facts, parent_pid, PLAIN, NULL),
	MEMBER(struct process_facts, machine, TEXT, "processor, as uname -m prints it, or unknown"),
	MEMBER(struct process_facts, exe, TEXT, "path of the program"),
	MEMBER(struct process_facts, cwd, TEXT, "its folder when recording began"),
	MEMBER(struct process_facts, argv, TEXTS, NULL),
	MEMBER(struct process_facts, started, TEXT, "ISO 8601, in UTC", .nullable = true),
	MEMBER(struct process_facts, duration_ns, NS, "how long was recorded"),
	MEMBER(struct process_facts, end, TEXT, NULL, .words = program_end_words),
	MEMBER(struct process_facts, end_status, SIGNED, "exit code, or number of the signal",
	       .nullable = true),
	MEMBER(struct process_facts, page_bytes, BYTES, NULL),
	MEMBER(struct process_facts, pointer_bytes, PLAIN, NULL),
};
static const struct shape shape_process =
	SHAPE("RecordingProcess", struct process_facts, process_members);

static const struct member loss_members[] = {
	MEMBER(struct loss_facts, lost_events, COUNT, "events that were not recorded"),
	MEMBER(struct loss_facts, no_space, COUNT, "no chunk was free"),
	MEMBER(struct loss_facts, nested, COUNT, "in nested signal handlers"),
	MEMBER(struct loss_facts, no_thread, COUNT, "no memory for a thread's state"),
	MEMBER(struct loss_facts, startup, COUNT, "before the recorder was ready"),
	MEMBER(struct loss_facts, truncated_stacks, COUNT, "stacks that were cut short"),
	MEMBER(struct loss_facts, stopped, COUNT, "after recording had stopped, at least"),
	MEMBER(struct loss_facts, missing_chunks, COUNT, "missing pieces of the tape"),
	MEMBER(struct loss_facts, damaged_places, COUNT, NULL),
	MEMBER(struct loss_facts, fault, TEXT, "why recording ended early", .nullable = true),
};
static const struct shape shape_loss = SHAPE("RecordingLosses", struct loss_facts, loss_members);

static const struct member recorder_members[] = {
	MEMBER(struct recorder_facts, selfchecks, COUNT, "stacks that were walked twice"),
	MEMBER(struct recorder_facts, selfcheck_differences, COUNT, "of these, not the same"),
	MEMBER(struct recorder_facts, private_bytes, BYTES, "of the recorder in the process"),
	MEMBER(struct recorder_facts, chunk_bytes, BYTES, "mapped for events", .nullable = true),
	MEMBER(struct recorder_facts, slow_ns, NS, "away from the hot path", .nullable = true),
	MEMBER(struct recorder_facts, collector_cpu_ns, NS, "of the process beside it",
	       .nullable = true),
};
static const struct shape shape_recorder =
	SHAPE("RecordingCosts", struct recorder_facts, recorder_members);

static const struct member thread_members[] = {
	MEMBER(struct thread_facts, tid, PLAIN, NULL),
	MEMBER(struct thread_facts, name, TEXT, NULL, .left = true),
	MEMBER(struct thread_facts, begin_ns, NS, NULL, .title = "Began"),
	MEMBER(struct thread_facts, end_ns, NS, NULL, .title = "Ended", .nullable = true),
};
static const struct shape shape_thread =
	SHAPE("RecordingThread", struct thread_facts, thread_members);

static const struct member module_members[] = {
	MEMBER(struct module_facts, begin, ADDRESS, NULL),
	MEMBER(struct module_facts, end, ADDRESS, "exclusive", .is_data = true),
	MEMBER(struct module_facts, bias, ADDRESS, "address in memory, less that in the file",
	       .is_data = true),
	MEMBER(struct module_facts, bytes, BYTES, NULL),
	MEMBER(struct module_facts, build_id, TEXT, "hexadecimal digits", .left = true,
	       .nullable = true),
	MEMBER(struct module_facts, path, TEXT, NULL, .left = true),
	MEMBER(struct module_facts, load_ns, NS, "when", .is_data = true),
	MEMBER(struct module_facts, unload_ns, NS, "when", .is_data = true, .nullable = true),
};
static const struct shape shape_module =
	SHAPE("RecordingModule", struct module_facts, module_members);

static const struct member recording_members[] = {
	MEMBER(struct recording, tape, OBJECT, "the file", .shape = &shape_tape),
	MEMBER(struct recording, process, OBJECT, NULL, .shape = &shape_process),
	MEMBER(struct recording, notes, FLAT, NULL, .shape = &shape_recording_notes),
	MEMBER(struct recording, import, OBJECT, "of a tape made of another tool's file",
	       .shape = &shape_import, .optional = true),
	MEMBER(struct recording, attached, OBJECT, "of a process that ran already",
	       .shape = &shape_attached, .optional = true),
	MEMBER(struct recording, losses, OBJECT, NULL, .shape = &shape_loss),
	MEMBER(struct recording, recorder, OBJECT, "what recording cost", .shape = &shape_recorder),
	MEMBER(struct recording, threads, ROWS, NULL, .shape = &shape_thread, .title = "Threads"),
	MEMBER(struct recording, modules, ROWS, NULL, .shape = &shape_module, .title = "Modules",
	       .is_table = true),
};
static const struct shape shape_recording = SHAPE("Recording", struct recording, recording_members);

/* --- texts ---------------------------------------------------------------------------------- */

/* *text_ret is unchanged if there are none. */
static struct err *hex_find(const uint8_t *bytes, size_t count, struct arena *arena,
			    const char **text_ret)
{
	CLEAN(str_deinit) struct str text = { 0 };

	if (count == 0)
		return NULL;
	for (size_t i = 0; i < count; i++)
		str_printf(&text, "%02x", bytes[i]);
	*text_ret = text.failed ? NULL : arena_strdup(arena, str_text(&text));
	return *text_ret ? NULL : err_nomem();
}

/* ISO 8601 in UTC: the same on every machine. *text_ret is unchanged if not known. */
static struct err *time_find(uint64_t realtime_ns, struct arena *arena, const char **text_ret)
{
	const time_t seconds = (time_t)(realtime_ns / NS_PER_S);
	struct tm at;

	if (realtime_ns == 0 || !gmtime_r(&seconds, &at))
		return NULL;
	*text_ret = arena_printf(arena, "%04d-%02d-%02dT%02d:%02d:%02dZ", at.tm_year + 1900,
				 at.tm_mon + 1, at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec);
	return *text_ret ? NULL : err_nomem();
}

/* --- the file and the process --------------------------------------------------------------- */

static const char *clock_word(const struct tape_header *header)
{
	return header->clock == TAPE_CLOCK_TSC ? arch_machine_counter(header->elf_machine)
					       : clock_words[0];
}

static struct err *tape_fill(const struct asked *asked, const struct capture *capture,
			     struct tape_facts *tape)
{
	const struct tape_header *header = capture_header(capture);
	const struct capture_facts *facts = capture_facts(capture);

	*tape = (struct tape_facts) {
		.version = header->version,
		.kind = kind_words[header->kind == TAPE_KIND_PACKED],
		.file_bytes = facts->file_bytes,
		.chunks = facts->chunk_count,
		.streams = facts->stream_count,
		.events = model_totals(asked->model)->event_count,
		.record_bytes = facts->record_bytes,
		.stack_nodes = facts->node_count,
		.stacks = model_stack_count(asked->model) - CAPTURE_STACK_FIRST,
		.clock = clock_word(header),
		.alloc_stacks = header->flags & TAPE_FLAG_ALLOC_STACKS,
		.free_stacks = header->flags & TAPE_FLAG_FREE_STACKS,
		.forked = header->flags & TAPE_FLAG_FORKED,
		.attached = header->flags & TAPE_FLAG_ATTACHED,
	};
	return hex_find(header->uuid, TAPE_UUID_BYTES, asked->arena, &tape->uuid);
}

static struct err *process_fill(const struct asked *asked, struct process_facts *facts)
{
	const struct model_process *process = model_process(asked->model);

	*facts = (struct process_facts) {
		.pid = process->pid,
		.parent_pid = process->parent_pid,
		.machine = arch_machine_name(process->elf_machine),
		.exe = process->exe,
		.cwd = process->cwd,
		.argv = { process->argv, process->argc },
		.duration_ns = process->duration_ns,
		.end = program_end_words[process->end_kind],
		.end_status = program_has_status(process) ? process->end_status : INT64_MIN,
		.page_bytes = process->page_bytes,
		.pointer_bytes = process->pointer_bytes,
	};
	return time_find(process->start_realtime_ns, asked->arena, &facts->started);
}

static struct loss_facts losses_of(const struct model *model)
{
	const struct model_quality *quality = model_quality(model);

	return (struct loss_facts) {
		.lost_events = quality->lost_events,
		.no_space = quality->lost[TAPE_LOST_NO_SPACE],
		.nested = quality->lost[TAPE_LOST_NESTED],
		.no_thread = quality->lost[TAPE_LOST_NO_THREAD],
		.startup = quality->lost[TAPE_LOST_STARTUP],
		.truncated_stacks = quality->lost[TAPE_LOST_TRUNCATED],
		.stopped = quality->lost[TAPE_LOST_STOPPED],
		.missing_chunks = quality->missing_chunk_count,
		.damaged_places = quality->damage_count,
		.fault = quality->fault == TAPE_FAULT_NONE ? NULL : quality->fault_text,
	};
}

/* The cost of recording as measured by the recorder; a raw tape has only part of it. */
static struct recorder_facts recorder_of(const struct model_quality *quality,
					 const struct tape_live *live)
{
	const struct tape_recorder *recorder = &quality->recorder;
	const bool is_known = quality->has_recorder;

	return (struct recorder_facts) {
		.selfchecks = quality->lost[TAPE_SELFCHECKS],
		.selfcheck_differences = quality->lost[TAPE_SELFCHECK_DIFFERENCES],
		.private_bytes = is_known ? recorder->private_bytes : live->recorder_bytes,
		.chunk_bytes = is_known ? recorder->chunk_bytes : SHAPE_NONE,
		.slow_ns = is_known ? recorder->slow_ns : SHAPE_NONE,
		.collector_cpu_ns = is_known ? recorder->collector_cpu_ns : SHAPE_NONE,
	};
}

/* --- threads and modules -------------------------------------------------------------------- */

static struct err *threads_fill(const struct asked *asked, struct shape_rows *rows)
{
	const size_t count = model_thread_count(asked->model);
	struct thread_facts *items = arena_array(asked->arena, count, sizeof(*items));

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const struct model_thread *thread = model_thread(asked->model, i);

		items[i] = (struct thread_facts) {
			thread->tid,
			thread->name,
			thread->begin_ns,
			thread->end_ns == MODEL_NEVER ? SHAPE_NONE : thread->end_ns,
		};
	}
	*rows = (struct shape_rows) { .items = items, .count = count };
	return NULL;
}

static struct err *module_fill(const struct asked *asked, size_t i, struct module_facts *facts)
{
	const struct capture_module *module = model_module(asked->model, i);
	const bool stays = module->unload_ticks == UINT64_MAX;

	*facts = (struct module_facts) {
		.begin = module->begin,
		.end = module->end,
		.bias = module->bias,
		.bytes = module->end - module->begin,
		.path = module->path,
		.load_ns = model_ns(asked->model, module->load_ticks),
		.unload_ns = stays ? SHAPE_NONE : model_ns(asked->model, module->unload_ticks),
	};
	return hex_find(module->build_id, module->build_id_bytes, asked->arena, &facts->build_id);
}

static struct err *modules_fill(const struct asked *asked, struct shape_rows *rows)
{
	const size_t count = model_module_count(asked->model);
	struct module_facts *items = arena_array(asked->arena, count, sizeof(*items));
	struct err *err = items ? NULL : err_nomem();

	for (size_t i = 0; i < count && !err; i++)
		err = module_fill(asked, i, &items[i]);
	*rows = (struct shape_rows) { .items = items, .count = count };
	return err;
}

static struct err *ask(const struct asked *asked, void *result)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct recording *recording = result;
	struct err *err;

	assert(asked->tape_path);
	err = capture_open(asked->tape_path, &capture);
	if (err)
		return err;
	err = tape_fill(asked, capture, &recording->tape);
	if (!err)
		err = process_fill(asked, &recording->process);
	if (!err)
		err = recording_notes_find(asked, &recording->notes);
	if (!err)
		err = import_find(asked->model, asked->arena, &recording->import);
	if (!err)
		err = attached_find(asked->model, asked->arena, &recording->attached);
	recording->losses = losses_of(asked->model);
	recording->recorder = recorder_of(model_quality(asked->model), capture_live(capture));
	if (!err)
		err = threads_fill(asked, &recording->threads);
	return err ? err : modules_fill(asked, &recording->modules);
}

const struct question question_recording = {
	.name = "recording",
	.summary = "what the tape is: process, modules, threads, losses, costs",
	.one_process = true,
	.shape = &shape_recording,
	.depth = MODEL_SUMMARY,
	.ignores_leaks = true,
	.ask = ask,
};
