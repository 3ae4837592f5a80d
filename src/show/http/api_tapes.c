#include "http/api_tapes.h"

#include <assert.h>

#include "answer/about.h"
#include "answer/program.h"
#include "base/str.h"
#include "http/server.h"
#include "model/import.h"
#include "space/fault_owners.h"
#include "space/touches.h"
#include "sums/kernel_events.h"
#include "sums/scans.h"

/* --- the shape ------------------------------------------------------------------------------ */

static const char *const state_words[] = {
	[TAPE_LOADING] = "loading", [TAPE_COMPLETE] = "complete", [TAPE_TRUNCATED] = "truncated",
	[TAPE_LIVE] = "live",	    [TAPE_FAILED] = "failed",	  NULL
};

struct has {
	bool rows, free_stacks, usage, system, space, latency, marks, leak_scan, touches;
	struct shape_texts kernel;
};

struct progress {
	uint64_t done, total;
};

enum { PAUSES_MAX = 256 };

/* Known once it has been read. */
struct reading {
	const char *name, *exe;
	struct shape_texts argv;
	uint64_t pid;
	const char *start_realtime_ns;
	uint64_t duration_ns;
	const char *end;
	uint64_t live_bytes, event_count, allocation_count, stack_count, thread_count, module_count,
		lost_events, damage_count, truncated_stacks;
	struct has has;
	bool goes_on;
	bool paused;
	uint64_t paused_ns, pause_count;
	struct shape_rows pauses; /* shape_pause */
	const struct attached *attached;
	const struct import *import;
	struct shape_texts edits;
};

static const struct member has_members[] = {
	MEMBER(struct has, rows, FLAG, "allocations one by one"),
	MEMBER(struct has, free_stacks, FLAG, "stacks of frees"),
	MEMBER(struct has, usage, FLAG, "samples of resident memory"),
	MEMBER(struct has, system, FLAG, "samples of the machine's memory"),
	MEMBER(struct has, space, FLAG, "looks at the address space"),
	MEMBER(struct has, latency, FLAG, "how long calls took"),
	MEMBER(struct has, marks, FLAG, NULL),
	MEMBER(struct has, leak_scan, FLAG, "a leak scan with a result"),
	MEMBER(struct has, touches, FLAG, "looks at which pages were touched"),
	MEMBER(struct has, kernel, TEXTS, "measures of events of the kernel"),
};
static const struct shape shape_has = SHAPE("TapeHas", struct has, has_members);

static const struct member progress_members[] = {
	MEMBER(struct progress, done, COUNT, NULL),
	MEMBER(struct progress, total, COUNT, NULL),
};
static const struct shape shape_progress = SHAPE("Progress", struct progress, progress_members);

static const struct member reading_members[] = {
	MEMBER(struct reading, name, TEXT, "of the program"),
	MEMBER(struct reading, exe, TEXT, "its path"),
	MEMBER(struct reading, argv, TEXTS, NULL),
	MEMBER(struct reading, pid, PLAIN, NULL),
	MEMBER(struct reading, start_realtime_ns, TEXT,
	       "since 1970; a text, for it is more than 2^53"),
	MEMBER(struct reading, duration_ns, NS, "how long was recorded"),
	MEMBER(struct reading, end, TEXT, "exited 0, killed by SIGKILL ..."),
	MEMBER(struct reading, live_bytes, BYTES, "at the end"),
	MEMBER(struct reading, event_count, COUNT, NULL),
	MEMBER(struct reading, allocation_count, COUNT, NULL),
	MEMBER(struct reading, stack_count, COUNT, NULL),
	MEMBER(struct reading, thread_count, COUNT, NULL),
	MEMBER(struct reading, module_count, COUNT, NULL),
	MEMBER(struct reading, lost_events, COUNT, "events that were not recorded"),
	MEMBER(struct reading, damage_count, COUNT, "damaged places"),
	MEMBER(struct reading, truncated_stacks, COUNT, "events with unknown outer frames"),
	MEMBER(struct reading, has, OBJECT, "what is on the tape", .shape = &shape_has),
	MEMBER(struct reading, goes_on, FLAG,
	       "the tape ends before its program: what was never freed is not freed yet"),
	MEMBER(struct reading, paused, FLAG, "at its end no allocations were recorded"),
	MEMBER(struct reading, paused_ns, NS, "for how long, in all"),
	MEMBER(struct reading, pause_count, COUNT, NULL),
	MEMBER(struct reading, pauses, ROWS, "the last 256, in order of time",
	       .shape = &shape_pause),
	MEMBER(struct reading, attached, OBJECT, "of a process that ran already",
	       .shape = &shape_attached, .nullable = true),
	MEMBER(struct reading, import, OBJECT, "of a tape made of another tool's file",
	       .shape = &shape_import, .nullable = true),
	MEMBER(struct reading, edits, TEXTS, "what was done to it later"),
};
static const struct shape shape_reading = SHAPE("Reading", struct reading, reading_members);

static const struct member tape_members[] = {
	MEMBER(struct api_tape, id, TEXT, NULL),
	MEMBER(struct api_tape, file, TEXT, "its name, without folders"),
	MEMBER(struct api_tape, state, TEXT, NULL, .words = state_words),
	MEMBER(struct api_tape, gen, PLAIN,
	       "one more whenever a tape that is being recorded was read again"),
	MEMBER(struct api_tape, readings, PLAIN,
	       "how often it was read; answers of a former reading may be other ones"),
	MEMBER(struct api_tape, error, TEXT, "why it could not be read", .nullable = true),
	MEMBER(struct api_tape, progress, OBJECT, "while it is read", .shape = &shape_progress,
	       .nullable = true),
	MEMBER(struct api_tape, refresh_ms, PLAIN,
	       "of one that is being recorded: it is read again so often at most"),
	MEMBER(struct api_tape, tape_bytes, BYTES, "of the file"),
	MEMBER(struct api_tape, reading, FLAT, "once it was read", .shape = &shape_reading,
	       .optional = true),
};
const struct shape api_shape_tape = SHAPE("Tape", struct api_tape, tape_members);

static const struct member info_members[] = {
	MEMBER(struct api_info, version, TEXT, "of memtape"),
	MEMBER(struct api_info, can_attach, FLAG, "whether /api/v1/attach can"),
	MEMBER(struct api_info, can_list, FLAG, "whether /api/v1/tapes can: a folder is served"),
	MEMBER(struct api_info, can_leak_scan, FLAG, "whether /api/v1/leak-scan can"),
	MEMBER(struct api_info, can_mark, FLAG, "whether /api/v1/mark can"),
	MEMBER(struct api_info, can_pause, FLAG, "whether /api/v1/pause can"),
	MEMBER(struct api_info, can_snapshot, FLAG, "whether /api/v1/snapshot can"),
	MEMBER(struct api_info, can_stop, FLAG, "whether /api/v1/stop can"),
	MEMBER(struct api_info, recorded, TEXT,
	       "the tape that these are about; null: there is none", .nullable = true),
	MEMBER(struct api_info, tapes, ROWS, "the last one is `last`", .shape = &api_shape_tape),
};
const struct shape api_shape_info = SHAPE("Info", struct api_info, info_members);

/* --- one tape ------------------------------------------------------------------------------- */

static bool has_note(const struct model *model, unsigned type)
{
	const struct model_note *notes = model_notes(model);

	for (size_t i = 0; i < model_note_count(model); i++) {
		if (notes[i].type == type)
			return true;
	}
	return false;
}

static struct err *kernel_measures(const struct model *model, struct arena *arena,
				   struct shape_texts *texts)
{
	const char **items = arena_array(arena, TAPE_KERNEL_KINDS + 1, sizeof(*items));
	size_t count = 0;

	if (!items)
		return err_nomem();
	for (uint32_t kind = 0; kind < TAPE_KERNEL_OOM; kind++)
		if (kernel_events_exist(model, kind))
			items[count++] = metric_words_all[kernel_events_metric(kind)];
	if (fault_owners_exist(model, TAPE_KERNEL_FAULT))
		items[count++] = metric_words_all[METRIC_OWNED_FAULTS];
	*texts = (struct shape_texts) { items, count };
	return NULL;
}

static struct has has_of(const struct model *model)
{
	const uint32_t flags = model_process(model)->flags;
	const struct model_scan *scan = scan_last(model);

	return (struct has) {
		.rows = model_row_count(model) > 0,
		.free_stacks = flags & TAPE_FLAG_FREE_STACKS,
		.usage = model_usage_count(model) > 0,
		.system = model_system_count(model) > 0,
		.space = has_note(model, TAPE_EXT_SPACE),
		.latency = flags & TAPE_FLAG_LATENCY,
		.marks = has_note(model, TAPE_EXT_MARK),
		.leak_scan = scan && !scan->trouble[0],
		.touches = touches_exist(model),
	};
}

static struct err *process_fill(const struct model *model, struct arena *arena,
				struct reading *reading)
{
	const struct model_process *process = model_process(model);
	CLEAN(str_deinit) struct str end = { 0 };

	program_end_add(&end, process);
	reading->name = program_name(model);
	reading->exe = process->exe;
	reading->argv = (struct shape_texts) { process->argv, process->argc };
	reading->pid = process->pid;
	reading->start_realtime_ns =
		arena_printf(arena, "%llu", (unsigned long long)process->start_realtime_ns);
	reading->duration_ns = process->duration_ns;
	reading->end = arena_strdup(arena, str_text(&end));
	return reading->start_realtime_ns && reading->end ? NULL : err_nomem();
}

static struct err *reading_fill(const struct model *model, struct arena *arena,
				struct reading *reading)
{
	const struct model_totals *totals = model_totals(model);
	const struct model_quality *quality = model_quality(model);
	struct err *err = process_fill(model, arena, reading);
	struct paused paused = { 0 };

	reading->live_bytes = totals->leaked.bytes;
	reading->event_count = totals->event_count;
	reading->allocation_count = totals->allocated.count;
	reading->stack_count = model_stack_count(model) - CAPTURE_STACK_FIRST;
	reading->thread_count = model_real_thread_count(model);
	reading->module_count = model_module_count(model);
	reading->lost_events = quality->lost_events;
	reading->damage_count = quality->damage_count;
	reading->truncated_stacks = totals->truncated_stack_count;
	reading->has = has_of(model);
	if (!err)
		err = kernel_measures(model, arena, &reading->has.kernel);
	if (!err)
		err = paused_find(model, arena, PAUSES_MAX, &paused);
	reading->goes_on = model_goes_on(model);
	reading->paused = paused.is_at_end;
	reading->paused_ns = paused.ns;
	reading->pause_count = paused.count;
	reading->pauses = paused.rows;
	if (!err)
		err = attached_find(model, arena, &reading->attached);
	if (!err)
		err = import_find(model, arena, &reading->import);
	return err ? err : edits_find(model, arena, &reading->edits);
}

static struct err *progress_fill(struct tape *tape, enum tape_state state, struct arena *arena,
				 const struct progress **progress_ret)
{
	const uint64_t total = __atomic_load_n(&tape->total, __ATOMIC_RELAXED);
	struct progress *progress;

	if (state != TAPE_LOADING || total == 0)
		return NULL;
	progress = arena_new(arena, struct progress);
	if (!progress)
		return err_nomem();
	*progress = (struct progress) { __atomic_load_n(&tape->done, __ATOMIC_RELAXED), total };
	*progress_ret = progress;
	return NULL;
}

/* In half seconds, so that it does not differ each time. */
static uint64_t refresh_ms(const struct tape_look *look)
{
	return div_up(look->refresh_ns, 500000000) * 500;
}

static struct err *look_fill(struct tape *tape, const struct tape_look *look, struct arena *arena,
			     struct api_tape *value)
{
	struct reading *reading = look->loaded ? arena_new(arena, struct reading) : NULL;
	struct err *err;

	*value = (struct api_tape) {
		.id = tape->id,
		.file = names_short_path(tape->source->path),
		.state = state_words[look->state],
		.gen = look->loaded ? look->loaded->gen : 0,
		.readings = look->loaded ? look->loaded->number : 0,
		.error = look->error ? arena_strdup(arena, look->error) : NULL,
		.refresh_ms = refresh_ms(look),
		.tape_bytes = look->file_bytes,
		.reading = reading,
	};
	if ((look->error && !value->error) || (look->loaded && !reading))
		return err_nomem();
	err = progress_fill(tape, look->state, arena, &value->progress);
	return err || !reading ? err : reading_fill(look->loaded->model, arena, reading);
}

struct err *api_tape_fill(struct tape *tape, struct loaded *loaded, struct arena *arena,
			  struct api_tape *value)
{
	struct tape_look look = tapes_look(tape);
	struct loaded *now = look.loaded;
	struct err *err;

	assert(loaded->tapes == tape->tapes);
	look.loaded = loaded;
	if (loaded->gen != 0)
		look.state = TAPE_LIVE;
	err = look_fill(tape, &look, arena, value);
	tapes_release(now);
	free(look.error);
	return err;
}

/* --- all of them ---------------------------------------------------------------------------- */

static size_t tapes_count(struct tapes *tapes)
{
	size_t count = 0;

	for (struct tape *tape = tapes_first(tapes); tape; tape = tape->next)
		count++;
	return count;
}

void api_info_end(void *ends)
{
	struct api_info *info = ends;

	for (size_t i = 0; i < info->look_count; i++) {
		tapes_release(info->looks[i].loaded);
		free(info->looks[i].error);
	}
	info->look_count = 0;
}

struct err *api_info_find(struct server *server, struct arena *arena, struct api_info *info)
{
	const bool is_recording = control_is_open(server_control(server));
	const struct tape *recorded = is_recording ? server_recorded(server) : NULL;
	/* A tape added meanwhile is included the next time. */
	const size_t count = tapes_count(server->tapes);
	struct api_tape *tapes = arena_array(arena, count, sizeof(*tapes));
	struct tape *tape = tapes_first(server->tapes);
	struct err *err = NULL;

	*info = (struct api_info) {
		.version = server->settings.version,
		.can_attach = server->processes != NULL,
		.can_list = server->folder != NULL,
		.can_leak_scan = is_recording,
		.can_mark = is_recording,
		.can_pause = is_recording,
		.can_snapshot = is_recording,
		.can_stop = is_recording,
		.recorded = recorded ? recorded->id : NULL,
		.tapes = { .items = tapes, .count = count },
		.looks = arena_array(arena, count, sizeof(*info->looks)),
	};
	if (!tapes || !info->looks)
		return err_nomem();
	for (size_t i = 0; i < count && tape && !err; i++, tape = tape->next) {
		info->looks[i] = tapes_look(tape);
		info->look_count++;
		err = look_fill(tape, &info->looks[i], arena, &tapes[i]);
	}
	return err;
}
