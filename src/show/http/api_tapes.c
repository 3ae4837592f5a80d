#include "http/api_tapes.h"

#include "answer/about.h"
#include "answer/speak.h"
#include "base/str.h"
#include "base/json.h"
#include "http/server.h"

static const char *const state_words[] = {
	[TAPE_LOADING] = "loading", [TAPE_COMPLETE] = "complete", [TAPE_TRUNCATED] = "truncated",
	[TAPE_LIVE] = "live",	    [TAPE_FAILED] = "failed",
};

static void end_add(struct str *out, const struct model_process *process)
{
	switch (process->end_kind) {
	case TAPE_END_EXIT:
		str_add(out, "exited");
		if (process->end_status >= 0)
			str_printf(out, " %d", process->end_status);
		return;
	case TAPE_END_SIGNAL: {
		const char *name = sigabbrev_np(process->end_status);

		if (name)
			str_printf(out, "killed by SIG%s", name);
		else
			str_printf(out, "killed by signal %d", process->end_status);
		return;
	}
	case TAPE_END_RUNNING:
		str_add(out, "still running");
		return;
	case TAPE_END_EXEC:
		str_add(out, "became another program");
		return;
	case TAPE_END_UNKNOWN:
		break;
	}
	str_add(out, "not known");
}

const char *api_program_name(const struct model *model)
{
	const struct model_process *process = model_process(model);
	const char *called = process->argc > 0 ? process->argv[0] : "";

	called = names_short_path(*called == '-' ? called + 1 : called); /* a login shell */
	/* What was written over it, as servers do, has blanks. */
	return *called && !called[strcspn(called, " \t\n")] ? called
							    : names_short_path(process->exe);
}

static void emit_process(struct emit *emit, const struct model *model)
{
	const struct model_process *process = model_process(model);
	CLEAN(str_deinit) struct str text = { 0 };

	emit_text(emit, "name", api_program_name(model));
	emit_text(emit, "exe", process->exe);
	emit_list(emit, "argv");
	for (uint32_t i = 0; i < process->argc; i++)
		emit_text(emit, NULL, process->argv[i]);
	emit_end(emit);
	emit_u64(emit, "pid", process->pid, EMIT_PLAIN);
	str_add_u64(&text, process->start_realtime_ns);
	emit_text(emit, "start_realtime_ns", str_text(&text));
	emit_u64(emit, "duration_ns", process->duration_ns, EMIT_DURATION);
	str_clear(&text);
	end_add(&text, process);
	emit_text(emit, "end", str_text(&text));
}

static void emit_counts(struct emit *emit, const struct model *model)
{
	const struct model_totals *totals = model_totals(model);
	const struct model_quality *quality = model_quality(model);

	emit_u64(emit, "live_bytes", totals->leaked.bytes, EMIT_BYTES);
	emit_u64(emit, "event_count", totals->event_count, EMIT_COUNT);
	emit_u64(emit, "allocation_count", totals->allocated.count, EMIT_COUNT);
	emit_u64(emit, "stack_count", model_stack_count(model) - CAPTURE_STACK_FIRST, EMIT_COUNT);
	emit_u64(emit, "thread_count", model_thread_count(model), EMIT_COUNT);
	emit_u64(emit, "module_count", model_module_count(model), EMIT_COUNT);
	emit_u64(emit, "lost_events", quality->lost_events, EMIT_COUNT);
	emit_u64(emit, "damage_count", quality->damage_count, EMIT_COUNT);
	emit_u64(emit, "truncated_stacks", totals->truncated_stack_count, EMIT_COUNT);
}

static bool has_note(const struct model *model, unsigned type)
{
	const struct model_note *notes = model_notes(model);

	for (size_t i = 0; i < model_note_count(model); i++) {
		if (notes[i].type == type)
			return true;
	}
	return false;
}

static void emit_has(struct emit *emit, const struct model *model)
{
	const uint32_t flags = model_process(model)->flags;

	emit_object(emit, "has");
	emit_bool(emit, "rows", model_row_count(model) > 0);
	emit_bool(emit, "free_stacks", flags & TAPE_FLAG_FREE_STACKS);
	emit_bool(emit, "usage", model_usage_count(model) > 0);
	emit_bool(emit, "space", has_note(model, TAPE_EXT_SPACE));
	emit_bool(emit, "latency", flags & TAPE_FLAG_LATENCY);
	emit_bool(emit, "marks", has_note(model, TAPE_EXT_MARK));
	emit_end(emit);
}

/* Where the tape comes from, and what was done to it. */
static struct err *emit_origin(struct emit *emit, const struct model *model)
{
	const struct speaker speaker = { .emit = emit, .model = model };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct shape_texts edits;
	const struct import *import;
	struct err *err = import_find(model, &arena, &import);

	if (!err)
		err = edits_find(model, &arena, &edits);
	if (err)
		return err;
	if (import) {
		emit_object(emit, "import");
		err = speak_members(&speaker, &shape_import, import);
		emit_end(emit);
	} else {
		emit_null(emit, "import");
	}
	json_texts(emit, "edits", edits.items, edits.count);
	return err;
}

static void emit_progress(struct emit *emit, struct tape *tape, enum tape_state state)
{
	const uint64_t total = __atomic_load_n(&tape->total, __ATOMIC_RELAXED);

	if (state != TAPE_LOADING || total == 0) {
		emit_null(emit, "progress");
		return;
	}
	emit_object(emit, "progress");
	emit_u64(emit, "done", __atomic_load_n(&tape->done, __ATOMIC_RELAXED), EMIT_COUNT);
	emit_u64(emit, "total", total, EMIT_COUNT);
	emit_end(emit);
}

void api_info_emit(struct emit *emit, struct server *server)
{
	const bool is_recording = control_is_open(server->control);

	emit_text(emit, "version", server->settings.version);
	emit_bool(emit, "can_mark", is_recording);
	emit_bool(emit, "can_snapshot", is_recording);
	emit_bool(emit, "can_stop", is_recording);
	emit_list(emit, "tapes");
	for (struct tape *tape = tapes_first(server->tapes); tape; tape = tape->next)
		api_tape_emit(emit, NULL, tape);
	emit_end(emit);
}

/* In halves of a second, so that it does not differ each time. */
static uint64_t refresh_ms(const struct tape_look *look)
{
	return div_up(look->refresh_ns, 500000000) * 500;
}

static void look_emit(struct emit *emit, const char *key, struct tape *tape,
		      const struct tape_look *look)
{
	struct err *err;

	emit_object(emit, key);
	emit_text(emit, "id", tape->id);
	emit_text(emit, "file", names_short_path(tape->source->path));
	emit_text(emit, "state", state_words[look->state]);
	emit_u64(emit, "gen", look->loaded ? look->loaded->gen : 0, EMIT_PLAIN);
	emit_text(emit, "error", look->error);
	emit_progress(emit, tape, look->state);
	emit_u64(emit, "refresh_ms", refresh_ms(look), EMIT_PLAIN);
	emit_u64(emit, "tape_bytes", look->file_bytes, EMIT_BYTES);
	if (look->loaded) {
		emit_process(emit, look->loaded->model);
		emit_counts(emit, look->loaded->model);
		emit_has(emit, look->loaded->model);
		err = emit_origin(emit, look->loaded->model);
		if (err)
			emit_fail(emit);
		err_destroy(err);
	}
	emit_end(emit);
}

void api_tape_emit(struct emit *emit, const char *key, struct tape *tape)
{
	const struct tape_look look = tapes_look(tape);

	look_emit(emit, key, tape, &look);
	tapes_release(look.loaded);
	free(look.error);
}

void api_tape_emit_reading(struct emit *emit, const char *key, struct tape *tape,
			   struct loaded *loaded)
{
	struct tape_look look = tapes_look(tape);
	struct loaded *now = look.loaded;

	look.loaded = loaded;
	if (loaded->gen != 0)
		look.state = TAPE_LIVE;
	look_emit(emit, key, tape, &look);
	tapes_release(now);
	free(look.error);
}
