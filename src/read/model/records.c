/* Extended records of a tape, and where they go in the model. */
#include "model/parts.h"

#include "capture/capture.h"
#include "tape/tape_thread.h"

/* Copies the struct at the payload's beginning; false: the payload is too short for it. */
static bool payload_get(const struct tape_extended_record *record, void *out, size_t bytes)
{
	if (record->payload_bytes < bytes)
		return false;
	memcpy(out, record->payload, bytes);
	return true;
}

/* The text after the struct, up to its NUL or the payload's end, in the model's arena. */
static const char *payload_text(struct load *load, const struct tape_extended_record *record,
				size_t struct_bytes)
{
	const char *text = (const char *)record->payload + struct_bytes;

	if (record->payload_bytes <= struct_bytes)
		return "";
	return arena_text(&load->model->arena, text,
			  strnlen(text, record->payload_bytes - struct_bytes));
}

static struct err *take_process(struct load *load, const struct tape_extended_record *record)
{
	struct model_process *process = &load->model->process;
	struct capture_process parsed = { .argv = NULL };
	struct err *err = capture_process_parse(record, &load->model->arena, &parsed);

	if (err || !parsed.argv)
		return err;
	process->exe = parsed.exe;
	process->cwd = parsed.cwd;
	process->argv = parsed.argv;
	process->argc = parsed.argc;
	process->page_bytes = parsed.page_bytes;
	return NULL;
}

/* The thread with this number that has not ended or is the same one: numbers are reused. */
static uint32_t thread_of_tid(const struct load *load, const struct tape_thread *thread)
{
	const uint64_t *index = map_find(&load->threads_by_tid, thread->tid);
	const struct replay_thread *known;

	if (!index)
		return MODEL_NO_THREAD;
	known = &load->replay.threads.items[*index];
	if (known->end_ticks != MODEL_NEVER && known->handle != thread->handle)
		return MODEL_NO_THREAD;
	return (uint32_t)*index;
}

static uint32_t thread_of_handle(const struct load *load, uint64_t handle)
{
	for (size_t i = load->replay.threads.count; i-- > 0;)
		if (load->replay.threads.items[i].handle == handle)
			return (uint32_t)i;
	return MODEL_NO_THREAD;
}

/* A stream that recorded before it introduced itself keeps the thread assigned to it. */
static bool is_anonymous(const struct load *load, uint32_t thread)
{
	return thread != MODEL_NO_THREAD && load->replay.threads.items[thread].tid == 0;
}

/* A thread's creator is reported by the creator, before or after the thread's own first record. */
static bool find_creator(struct load *load, uint32_t index, uint64_t handle)
{
	struct replay_thread *thread = &load->replay.threads.items[index];
	uint64_t *known = handle ? map_put(&load->threads_by_handle, handle, NULL) : NULL;
	uint64_t creation;

	if (handle && !known)
		return false;
	if (!handle)
		return true;
	*known = index;
	if (thread->creator == MODEL_NO_THREAD && map_remove(&load->creations, handle, &creation)) {
		thread->creator = (uint32_t)(creation >> 32);
		thread->create_stack = (uint32_t)creation;
	}
	return true;
}

/* Key of both maps for a thread known by its birth number, not by a pthread_t. */
static uint64_t birth_key(uint64_t number)
{
	return number | UINT64_C(1) << 63;
}

static struct err *take_birth(struct load *load, const struct capture_event *event,
			      const struct tape_extended_record *record)
{
	const uint32_t thread = load->replay.streams[event->stream].thread;
	struct tape_thread_birth birth;

	if (!payload_get(record, &birth, sizeof(birth)) || thread == MODEL_NO_THREAD)
		return NULL;
	return find_creator(load, thread, birth_key(birth.number)) ? NULL : err_nomem();
}

static struct err *take_creation(struct load *load, const struct capture_event *event,
				 const struct tape_extended_record *record)
{
	const uint32_t creator = load->replay.streams[event->stream].thread;
	struct tape_thread_create creation;
	const uint64_t *known;
	uint64_t *place;

	if (!payload_get(record, &creation, sizeof(creation)) || creation.handle == 0 ||
	    creator == MODEL_NO_THREAD)
		return NULL;
	if (creation.is_birth)
		creation.handle = birth_key(creation.handle);
	known = map_find(&load->threads_by_handle, creation.handle);
	if (known && *known != creator &&
	    load->replay.threads.items[*known].creator == MODEL_NO_THREAD) {
		load->replay.threads.items[*known].creator = creator;
		load->replay.threads.items[*known].create_stack = event->stack;
		return NULL;
	}
	place = map_put(&load->creations, creation.handle, NULL);
	if (!place)
		return err_nomem();
	*place = (uint64_t)creator << 32 | event->stack;
	return NULL;
}

/*
 * From here on the stream belongs to this thread: one thread after another may have it, and a
 * thread may have several (for its signal handlers, and after its end).
 */
static struct err *take_thread(struct load *load, const struct capture_event *event,
			       const struct tape_extended_record *record)
{
	struct replay *replay = &load->replay;
	struct replay_stream *stream = &replay->streams[event->stream];
	struct tape_thread thread;
	struct replay_thread *row;
	uint32_t index;
	uint64_t *known;
	const char *name;

	if (!payload_get(record, &thread, sizeof(thread)))
		return NULL;
	name = payload_text(load, record, sizeof(thread));
	index = thread_of_tid(load, &thread);
	if (index == MODEL_NO_THREAD && is_anonymous(load, stream->thread))
		index = stream->thread;
	if (index == MODEL_NO_THREAD)
		index = replay_thread_add(replay, event->stream, thread.tid, "", event->ticks);
	known = map_put(&load->threads_by_tid, thread.tid, NULL);
	if (!name || !known || index == MODEL_NO_THREAD)
		return err_nomem();
	*known = stream->thread = index;
	row = &replay->threads.items[index];
	row->tid = thread.tid;
	row->handle = thread.handle;
	row->end_ticks = MODEL_NEVER;
	if (*name && !row->is_named)
		row->name = name;
	return find_creator(load, index, thread.handle) ? NULL : err_nomem();
}

enum { NAMED_BY_PROGRAM = 2 /* tape_thread.lane */ };

/* Threads may name each other; then the handle identifies the thread. */
static struct err *take_thread_name(struct load *load, const struct capture_event *event,
				    const struct tape_extended_record *record)
{
	uint32_t index = load->replay.streams[event->stream].thread;
	struct tape_thread thread;
	struct replay_thread *row;
	const char *name;

	if (!payload_get(record, &thread, sizeof(thread)))
		return NULL;
	name = payload_text(load, record, sizeof(thread));
	if (!name)
		return err_nomem();
	if (thread.tid == 0 && thread.handle != 0)
		index = thread_of_handle(load, thread.handle);
	else if (event->stream == TAPE_COLLECTOR_STREAM)
		index = thread_of_tid(load, &thread);
	if (index == MODEL_NO_THREAD || !*name)
		return NULL;
	row = &load->replay.threads.items[index];
	if (!row->is_named || thread.lane == NAMED_BY_PROGRAM)
		row->name = name;
	row->is_named |= thread.lane == NAMED_BY_PROGRAM;
	return NULL;
}

static void take_thread_end(struct load *load, const struct capture_event *event)
{
	uint32_t thread = load->replay.streams[event->stream].thread;

	if (thread != MODEL_NO_THREAD)
		load->replay.threads.items[thread].end_ticks = event->ticks;
}

/* Both may be UINT64_MAX: unknown. */
static uint64_t known_max(uint64_t a, uint64_t b)
{
	return a == UINT64_MAX ? b : b == UINT64_MAX ? a : u64_max(a, b);
}

/* Of the thread that it names, which need not be the stream's. */
static void take_stack_use(struct load *load, const struct tape_extended_record *record)
{
	struct tape_stack_use told;
	struct tape_stack_use *use;
	const uint64_t *index;

	if (!payload_get(record, &told, sizeof(told)))
		return;
	index = map_find(&load->threads_by_tid, told.tid);
	if (!index)
		return;
	use = &load->replay.threads.items[*index].stack_use;
	told.seen_bytes = known_max(told.seen_bytes, use->seen_bytes);
	told.touched_bytes = known_max(told.touched_bytes, use->touched_bytes);
	told.flags |= use->flags;
	*use = told;
}

/* The latest block of the thread is not on the tape: earlier ones are not its latest. */
static void take_stripped(struct load *load, const struct capture_event *event)
{
	uint32_t thread = load->replay.streams[event->stream].thread;

	if (thread != MODEL_NO_THREAD)
		load->replay.threads.items[thread].last_serial = UINT32_MAX;
}

static struct err *take_usage(struct load *load, const struct tape_extended_record *record)
{
	struct model_usage usage = { .ns = record->ticks };

	if (!payload_get(record, &usage.usage, sizeof(usage.usage)))
		return NULL;
	return model_usages_vec_push(&load->model->usages, usage) ? NULL : err_nomem();
}

static struct err *take_system(struct load *load, const struct tape_extended_record *record)
{
	struct model_system system = { .ns = record->ticks };

	if (!payload_get(record, &system.system, sizeof(system.system)))
		return NULL;
	return model_systems_vec_push(&load->model->systems, system) ? NULL : err_nomem();
}

void load_window(struct load *load)
{
	struct disorder *disorder = &load->replay.disorder;

	disorder->early_window_ticks = clock_ticks(&load->model->clock, load->header,
						   EARLY_WINDOW_NS, disorder->late_window_ticks);
}

static struct err *take_clock(struct load *load, const struct tape_extended_record *record)
{
	struct tape_clock_pair pair;

	if (!payload_get(record, &pair, sizeof(pair)))
		return NULL;
	if (!clock_add(&load->model->clock, load->header, &pair))
		return err_nomem();
	load_window(load);
	return NULL;
}

static void take_lost(struct load *load, const struct tape_extended_record *record)
{
	struct model_quality *quality = &load->model->quality;
	struct tape_lost lost;

	if (!payload_get(record, &lost, sizeof(lost)))
		return;
	for (size_t i = 0; i < array_size(lost.lost); i++)
		quality->lost[i] = u64_max(quality->lost[i], lost.lost[i]);
}

/* Size of the fixed part of a record that is kept as a note; 0: it is not kept. */
static size_t note_bytes(enum tape_extended type)
{
	switch (type) {
	case TAPE_EXT_MMAP:
	case TAPE_EXT_MUNMAP:
	case TAPE_EXT_MREMAP:
	case TAPE_EXT_MPROTECT:
	case TAPE_EXT_MADVISE:
	case TAPE_EXT_BRK:
		return sizeof(struct tape_map);
	case TAPE_EXT_MALLOPT:
	case TAPE_EXT_MALLOC_TRIM:
		return sizeof(struct tape_setting);
	case TAPE_EXT_SPACE:
		return sizeof(struct tape_space);
	case TAPE_EXT_TOUCHED:
		return sizeof(struct tape_touched);
	case TAPE_EXT_ATTACHED:
		return sizeof(struct tape_attached);
	case TAPE_EXT_PAUSE:
		return sizeof(struct tape_paused);
	case TAPE_EXT_TAG:
		return sizeof(struct tape_tag);
	case TAPE_EXT_FORK:
	case TAPE_EXT_EXEC:
	case TAPE_EXT_DLOPEN:
		return sizeof(struct tape_fork);
	case TAPE_EXT_MARK:
		return sizeof(struct tape_mark);
	case TAPE_EXT_FAULT:
		return sizeof(struct tape_fault_record);
	case TAPE_EXT_RECORDER:
		return sizeof(struct tape_recorder);
	case TAPE_EXT_END:
		return sizeof(struct tape_end);
	case TAPE_EXT_IMPORT:
		return sizeof(struct tape_import);
	case TAPE_EXT_EDIT:
		return sizeof(struct tape_edit);
	case TAPE_EXT_BEFORE:
		return sizeof(struct tape_before);
	case TAPE_EXT_ROTATED:
		return sizeof(struct tape_rotated);
	case TAPE_EXT_ALLOCATOR:
		return sizeof(struct tape_allocator);
	case TAPE_EXT_MEMBER:
		return sizeof(struct tape_member);
	case TAPE_EXT_MEMBER_SUMS:
		return sizeof(struct tape_member_sums);
	case TAPE_EXT_MEMBER_USAGE:
		return sizeof(struct tape_member_usage);
	case TAPE_EXT_KERNEL:
		return sizeof(struct tape_kernel);
	case TAPE_EXT_KERNEL_COUNT:
		return sizeof(struct tape_kernel_count);
	case TAPE_EXT_HUGE_LOST:
		return sizeof(struct tape_huge_lost);
	case TAPE_EXT_NODE_USE:
		return sizeof(struct tape_node_use);
	case TAPE_EXT_CGROUP:
		return sizeof(struct tape_cgroup);
	default:
		return 0;
	}
}

/*
 * The program itself says when it exits. The collector says it once more when it has waited for the
 * process: on a busy machine much later.
 */
static bool is_said_again(const struct load *load, const struct model_note *note)
{
	return load->end_ticks > 0 && load->model->process.end_kind == TAPE_END_EXIT &&
	       note->end.kind == TAPE_END_EXIT;
}

static void take_conclusion(struct load *load, const struct model_note *note)
{
	struct model *model = load->model;

	if (note->type == TAPE_EXT_END) {
		if (!is_said_again(load, note))
			load->end_ticks = note->ns;
		model->process.end_kind = note->end.kind <= TAPE_END_EXEC
						  ? (enum tape_end_kind)note->end.kind
						  : TAPE_END_UNKNOWN;
		model->process.end_status = note->end.status;
	} else if (note->type == TAPE_EXT_IMPORT) {
		load->replay.disorder.has_older_blocks = true; /* maybe: many tools attach */
	} else if (note->type == TAPE_EXT_PAUSE) {
		load->replay.is_paused = note->paused.is_paused != 0;
		load->replay.disorder.has_older_blocks |= load->replay.is_paused;
	} else if (note->type == TAPE_EXT_EXEC) {
		load->exec_ticks = note->ns;
	} else if (note->type == TAPE_EXT_FAULT) {
		model->quality.fault = (enum tape_fault)note->fault.fault;
		model->quality.fault_errno = note->fault.error;
		model->quality.fault_text = note->text;
	} else if (note->type == TAPE_EXT_RECORDER) {
		model->quality.has_recorder = true;
		model->quality.recorder = note->recorder;
	}
}

static struct err *take_note(struct load *load, const struct capture_event *event,
			     const struct tape_extended_record *record)
{
	size_t bytes = note_bytes(record->type);
	struct model_note note = { .ns = record->ticks,
				   .thread = load->replay.streams[event->stream].thread,
				   .stack = event->stack,
				   .type = record->type };

	if (bytes == 0 || !payload_get(record, &note.map, bytes))
		return NULL;
	note.text = payload_text(load, record, bytes);
	if (!note.text || !model_notes_vec_push(&load->model->notes, note))
		return err_nomem();
	take_conclusion(load, &note);
	return NULL;
}

static struct err *take_scan_begin(struct load *load, const struct tape_extended_record *record)
{
	struct tape_scan_begin begin;

	if (load->replay.is_of_pools || !payload_get(record, &begin, sizeof(begin)))
		return NULL;
	return scans_begin(&load->model->built_scans, &begin, record->ticks, &load->replay.blocks);
}

static struct err *take_scan_part(struct load *load, const struct tape_extended_record *record)
{
	struct tape_scan_part part;

	if (load->replay.is_of_pools || !payload_get(record, &part, sizeof(part)))
		return NULL;
	return scans_part(&load->model->built_scans, &part, record->payload + sizeof(part),
			  record->payload_bytes - sizeof(part));
}

struct err *load_record(struct load *load, const struct capture_event *event)
{
	const struct tape_extended_record record = capture_event_extended(event);

	switch (record.type) {
	case TAPE_EXT_PROCESS:
		return take_process(load, &record);
	case TAPE_EXT_THREAD:
		return take_thread(load, event, &record);
	case TAPE_EXT_THREAD_CREATE:
		return take_creation(load, event, &record);
	case TAPE_EXT_THREAD_BIRTH:
		return take_birth(load, event, &record);
	case TAPE_EXT_THREAD_NAME:
		return take_thread_name(load, event, &record);
	case TAPE_EXT_THREAD_END:
		take_thread_end(load, event);
		return NULL;
	case TAPE_EXT_STACK_USE:
		take_stack_use(load, &record);
		return NULL;
	case TAPE_EXT_STRIPPED:
		take_stripped(load, event);
		return NULL;
	case TAPE_EXT_CLOCK:
		return take_clock(load, &record);
	case TAPE_EXT_USAGE:
		return take_usage(load, &record);
	case TAPE_EXT_SYSTEM:
		return take_system(load, &record);
	case TAPE_EXT_SCAN_BEGIN:
		return take_scan_begin(load, &record);
	case TAPE_EXT_SCAN:
		return take_scan_part(load, &record);
	case TAPE_EXT_POOL:
		return load->replay.is_of_pools ? pools_take(&load->pools, event, &record) : NULL;
	case TAPE_EXT_LOST:
		take_lost(load, &record);
		return NULL;
	default: /* capture handles modules, and later versions have more types */
		return take_note(load, event, &record);
	}
}
