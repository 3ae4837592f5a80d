#include "report/quality.h"

#include "findings/allocators.h"
#include "findings/edits.h"
#include "model/import.h"
#include "report/origin.h"

static const char *const loss_words[8] = {
	[TAPE_LOST_NO_SPACE] = "events lost, because no chunk could be had",
	[TAPE_LOST_NESTED] = "events lost in nested signal handlers",
	[TAPE_LOST_NO_THREAD] = "events lost, because there was no memory for a thread's state",
	[TAPE_LOST_STARTUP] = "events lost before the recorder was ready",
	[TAPE_LOST_STOPPED] = "events lost after recording stopped, at least",
};

static const char *const loss_keys[8] = {
	[TAPE_LOST_NO_SPACE] = "no_space",   [TAPE_LOST_NESTED] = "nested",
	[TAPE_LOST_NO_THREAD] = "no_thread", [TAPE_LOST_STARTUP] = "startup",
	[TAPE_LOST_TRUNCATED] = "truncated", [TAPE_LOST_STOPPED] = "stopped",
};

/* Modules of which something was shown, but not as well as it could be. */
static bool module_is_poor(enum symbol_state state)
{
	return state == SYMBOL_MISSING || state == SYMBOL_STALE || state == SYMBOL_NONE;
}

static void begin_line(struct text *text, bool *is_first)
{
	if (*is_first)
		text_heading(text, "Warnings", NULL);
	*is_first = false;
	str_add(&text->out, "  ");
	text_add(text, TEXT_BAD, "! ");
}

static void add_count(struct text *text, bool *is_first, uint64_t count, const char *words)
{
	if (count == 0)
		return;
	begin_line(text, is_first);
	str_add(&text->out, words);
	str_add(&text->out, ": ");
	str_add_grouped(&text->out, count);
	str_add_char(&text->out, '\n');
}

static void add_fault(struct text *text, bool *is_first, const struct model_quality *quality)
{
	if (quality->fault == TAPE_FAULT_NONE)
		return;
	begin_line(text, is_first);
	if (quality->fault != TAPE_FAULT_KILLED)
		str_add(&text->out, "recording stopped early: ");
	str_add_terminal(&text->out,
			 quality->fault_text[0] ? quality->fault_text : "the reason is not known");
	str_add_char(&text->out, '\n');
}

static void add_damage(struct text *text, bool *is_first, const struct model *model)
{
	const size_t count = model_damage_count(model);

	if (count == 0)
		return;
	begin_line(text, is_first);
	str_add(&text->out, "the tape is damaged: at byte ");
	str_add_u64(&text->out, model_damage(model, 0)->offset);
	str_add(&text->out, ", ");
	str_add_terminal(&text->out, model_damage(model, 0)->text);
	if (count > 1)
		str_printf(&text->out, ", and at more places: %zu", count - 1);
	str_add(&text->out, "; `memtape verify` tells all\n");
}

static void add_modules(struct text *text, bool *is_first, const struct report_context *context)
{
	for (size_t i = 0; i < model_module_count(context->model); i++) {
		const enum symbol_state state = names_module_state(context->names, i);

		if (!module_is_poor(state))
			continue;
		begin_line(text, is_first);
		str_add_terminal(&text->out, model_module(context->model, i)->path);
		str_add(&text->out, ": ");
		str_add(&text->out, symbol_state_text(state));
		str_add(&text->out, ", so its functions have no names here\n");
	}
}

/* What is not shown because it was not asked for is no fault, but must be minded all the same. */
static void add_part(struct text *text, bool *is_first, const struct report_context *context)
{
	const struct report_settings *settings = context->settings;

	const bool is_all = !context->selection || selection_is_all(context->selection);

	if (is_all && !context->has_window)
		return;
	begin_line(text, is_first);
	str_add(&text->out, "this is about a part of the tape");
	if (!is_all) {
		str_add(&text->out, ": ");
		text_counted(&text->out, context->selection->count, "allocation");
	}
	if (settings->filter) {
		str_add(&text->out, " of which ");
		str_add_terminal(&text->out, settings->filter);
	}
	if (settings->from || settings->until) {
		str_add(&text->out, ", from ");
		str_add_terminal(&text->out, settings->from ? settings->from : "start");
		str_add(&text->out, " until ");
		str_add_terminal(&text->out, settings->until ? settings->until : "end");
	}
	str_add_char(&text->out, '\n');
}

/* The whole of it is foreign text. */
static void add_import(struct text *text, bool *is_first, const struct report_context *context)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct model_import *import = NULL;
	struct err *err = model_import_get(context->model, &arena, &import);

	err_destroy(err);
	if (!import)
		return;
	begin_line(text, is_first);
	str_add(&text->out, "not recorded by memtape, but made of a file of ");
	str_add_terminal(&text->out, import->tool[0] ? import->tool : import->format);
	str_add(&text->out, ": ");
	str_add_terminal(&text->out, import->file);
	str_add_char(&text->out, '\n');
	if (import->missing) {
		begin_line(text, is_first);
		str_add(&text->out, "that file has not: ");
		model_missing_add(&text->out, import->missing);
		str_add_char(&text->out, '\n');
	}
	for (size_t i = 0; i < import->note_count; i++) {
		begin_line(text, is_first);
		str_add_terminal(&text->out, import->notes[i]);
		str_add_char(&text->out, '\n');
	}
}

/* What is not on the tape any more, or not as it was. */
static void add_edits(struct text *text, bool *is_first, const struct model *model)
{
	const struct model_note *edit;
	size_t at = 0;

	while ((edit = edits_next(model, &at))) {
		CLEAN(str_deinit) struct str words = { 0 };

		edit_words(edit, &words);
		begin_line(text, is_first);
		str_add_terminal(&text->out, str_text(&words));
		str_add_char(&text->out, '\n');
	}
}

static void add_allocators(struct text *text, bool *is_first, const struct model *model)
{
	struct allocator_seen seen;
	size_t at = 0;

	while (allocators_next(model, &at, &seen)) {
		CLEAN(str_deinit) struct str words = { 0 };

		if (!allocator_complaint(&seen, &words))
			continue;
		begin_line(text, is_first);
		str_add_terminal(&text->out, str_text(&words));
		str_add_char(&text->out, '\n');
	}
}

void quality_text(struct text *text, const struct report_context *context)
{
	const struct model_quality *quality = model_quality(context->model);
	const struct model_totals *totals = model_totals(context->model);
	bool is_first = true;

	add_part(text, &is_first, context);
	add_import(text, &is_first, context);
	add_edits(text, &is_first, context->model);
	add_allocators(text, &is_first, context->model);
	add_fault(text, &is_first, quality);
	for (size_t i = 0; i < array_size(loss_words); i++) {
		if (loss_words[i])
			add_count(text, &is_first, quality->lost[i], loss_words[i]);
	}
	add_count(text, &is_first, quality->lost[TAPE_SELFCHECK_DIFFERENCES],
		  "stacks that the recorder's self-check found to be wrong");
	add_count(text, &is_first, quality->missing_chunk_count,
		  "pieces of the tape that are missing");
	add_damage(text, &is_first, context->model);
	add_count(text, &is_first, totals->truncated_stack_count,
		  "events whose stack was cut short, so that outer frames are not known");
	add_count(text, &is_first, totals->lost_free_count,
		  "blocks freed unseen, as their address was given out again");
	if (model_process(context->model)->clock_is_estimated) {
		begin_line(text, &is_first);
		str_add(&text->out, "too few clock readings on the tape: times are estimates\n");
	}
	add_modules(text, &is_first, context);
}

void import_emit(struct emit *emit, const struct model *model)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct model_import *import = NULL;
	struct err *err = model_import_get(model, &arena, &import);

	err_destroy(err);
	if (!import)
		return;
	emit_object(emit, "import");
	origin_import_members(emit, import);
	emit_end(emit);
}

void quality_emit(struct emit *emit, const struct report_context *context)
{
	const struct model_quality *quality = model_quality(context->model);
	size_t at = 0;

	emit_object(emit, "quality");
	if (context->selection && !selection_is_all(context->selection)) {
		emit_text(emit, "filter", context->settings->filter);
		emit_text(emit, "from", context->settings->from);
		emit_text(emit, "until", context->settings->until);
		emit_u64(emit, "selected_allocations", context->selection->count, EMIT_COUNT);
	} else if (context->has_window) {
		emit_text(emit, "from", context->settings->from);
		emit_text(emit, "until", context->settings->until);
	}
	emit_u64(emit, "lost_events", quality->lost_events, EMIT_COUNT);
	emit_object(emit, "lost");
	for (size_t i = 0; i < array_size(loss_keys); i++) {
		if (loss_keys[i])
			emit_u64(emit, loss_keys[i], quality->lost[i], EMIT_COUNT);
	}
	emit_end(emit);
	emit_u64(emit, "truncated_stacks", model_totals(context->model)->truncated_stack_count,
		 EMIT_COUNT);
	emit_u64(emit, "missing_chunks", quality->missing_chunk_count, EMIT_COUNT);
	emit_u64(emit, "damaged_places", model_damage_count(context->model), EMIT_COUNT);
	emit_text(emit, "fault", quality->fault == TAPE_FAULT_NONE ? NULL : quality->fault_text);
	import_emit(emit, context->model);
	if (edits_next(context->model, &at))
		origin_edits(emit, context->model);
	emit_list(emit, "unnamed_modules");
	for (size_t i = 0; i < model_module_count(context->model); i++) {
		const enum symbol_state state = names_module_state(context->names, i);

		if (!module_is_poor(state))
			continue;
		emit_object(emit, NULL);
		emit_text(emit, "module", model_module(context->model, i)->path);
		emit_text(emit, "reason", symbol_state_text(state));
		emit_end(emit);
	}
	emit_end(emit);
	emit_end(emit);
}
