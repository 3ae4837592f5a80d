#include "report/quality.h"

#include "findings/allocators.h"
#include "findings/pauses.h"
#include "report/answered.h"

static const char *const loss_words[8] = {
	[TAPE_LOST_NO_SPACE] = "events lost, because no chunk could be had",
	[TAPE_LOST_NESTED] = "events lost in nested signal handlers",
	[TAPE_LOST_NO_THREAD] = "events lost, because there was no memory for a thread's state",
	[TAPE_LOST_STARTUP] = "events lost before the recorder was ready",
	[TAPE_LOST_STOPPED] = "events lost after recording stopped, at least",
};

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
	str_add(&text->out, "; `memtape verify` lists all\n");
}

static struct err *add_modules(struct text *text, bool *is_first, const struct shape_rows *modules)
{
	struct unnamed_module module;
	bool has_more = true;

	for (;;) {
		struct err *err = modules->next(modules->state, &module, &has_more);

		if (err || !has_more)
			return err;
		begin_line(text, is_first);
		str_add_terminal(&text->out, module.module);
		str_add(&text->out, ": ");
		str_add(&text->out, module.reason);
		str_add(&text->out, ", so its functions have no names here\n");
	}
}

static void add_pauses(struct text *text, bool *is_first, const struct model *model)
{
	CLEAN(str_deinit) struct str words = { 0 };

	pauses_words(model, &words);
	if (words.len == 0)
		return;
	begin_line(text, is_first);
	str_add(&text->out, str_text(&words));
	str_add_char(&text->out, '\n');
}

/* Omitting what was not requested is not an error, but must be mentioned. */
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
		str_add_counted(&text->out, context->selection->count, "allocation");
	}
	if (settings->with.filter) {
		str_add(&text->out, " of which ");
		str_add_terminal(&text->out, settings->with.filter);
	}
	if (settings->with.from || settings->with.until) {
		str_add(&text->out, ", from ");
		str_add_terminal(&text->out, settings->with.from ? settings->with.from : "start");
		str_add(&text->out, " until ");
		str_add_terminal(&text->out, settings->with.until ? settings->with.until : "end");
	}
	str_add_char(&text->out, '\n');
}

static void add_import_notes(struct text *text, bool *is_first, const struct import *import)
{
	for (size_t i = 0; i < import->notes.count; i++) {
		begin_line(text, is_first);
		str_add_terminal(&text->out, import->notes.items[i]);
		str_add_char(&text->out, '\n');
	}
}

/* A program that nobody recorded. */
static void add_heap(struct text *text, bool *is_first, const struct import *import)
{
	str_add(&text->out, "usable sizes; no call stacks: ");
	str_add_terminal(&text->out, import->file);
	str_add(&text->out, " was not recorded, and the blocks are those that glibc's heap has\n");
	add_import_notes(text, is_first, import);
}

/* What probes in the kernel have counted. */
static void add_probes(struct text *text, bool *is_first, const struct import *import)
{
	str_add(&text->out, "made of probes in the kernel (memtape attach --bpf), of ");
	str_add_terminal(&text->out, import->file);
	str_add(&text->out, "; it lacks ");
	str_add(&text->out, import->words);
	str_add_char(&text->out, '\n');
	add_import_notes(text, is_first, import);
}

/* What the kernel did for a program. */
static void add_kernel(struct text *text, const struct import *import)
{
	str_add(&text->out, "events of the kernel (memtape trace) in ");
	str_add_terminal(&text->out, import->file);
	str_add(&text->out, ", no allocations: see `memtape report TAPE trace`\n");
}

/* All of it is foreign text. */
static void add_import(struct text *text, bool *is_first, const struct import *import)
{
	if (!import)
		return;
	if (strcmp(import->format, TAPE_IMPORT_SESSION) == 0) { /* memtape has recorded it all */
		add_import_notes(text, is_first, import);
		return;
	}
	begin_line(text, is_first);
	if (strcmp(import->format, TAPE_IMPORT_HEAP) == 0) {
		add_heap(text, is_first, import);
		return;
	}
	if (strcmp(import->format, TAPE_IMPORT_PROBES) == 0) {
		add_probes(text, is_first, import);
		return;
	}
	if (strcmp(import->format, TAPE_IMPORT_KERNEL) == 0) {
		add_kernel(text, import);
		add_import_notes(text, is_first, import);
		return;
	}
	str_add(&text->out, "not recorded by memtape, but made of a file of ");
	str_add_terminal(&text->out, import->tool ? import->tool : import->format);
	str_add(&text->out, ": ");
	str_add_terminal(&text->out, import->file);
	str_add_char(&text->out, '\n');
	if (import->missing.count > 0) {
		begin_line(text, is_first);
		str_add(&text->out, "that file has not: ");
		str_add(&text->out, import->words);
		str_add_char(&text->out, '\n');
	}
	add_import_notes(text, is_first, import);
}

/* What was removed from the tape, or changed. */
static void add_edits(struct text *text, bool *is_first, const struct shape_texts *edits)
{
	for (size_t i = 0; i < edits->count; i++) {
		begin_line(text, is_first);
		str_add_terminal(&text->out, edits->items[i]);
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
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct asked asked = answered_of(context);
	struct quality known;
	struct err *err;
	bool is_first = true;

	asked.arena = &arena;
	err = quality_find(&asked, &known);
	if (err) {
		text->out.failed = true;
		err_destroy(err);
		return;
	}
	add_part(text, &is_first, context);
	add_import(text, &is_first, known.import);
	add_edits(text, &is_first, &known.edits);
	add_allocators(text, &is_first, context->model);
	add_pauses(text, &is_first, context->model);
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
	err = add_modules(text, &is_first, &known.unnamed_modules);
	text->out.failed |= err != NULL;
	err_destroy(err);
}
