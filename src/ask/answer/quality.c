#include "answer/about.h"
#include "findings/edits.h"
#include "findings/pauses.h"
#include "model/import.h"

/* --- shapes --------------------------------------------------------------------------------- */

static const struct member import_members[] = {
	MEMBER(struct import, format, TEXT, "of the file"),
	MEMBER(struct import, tool, TEXT, "that wrote it", .nullable = true),
	MEMBER(struct import, file, TEXT, NULL),
	MEMBER(struct import, missing, TEXTS, "what that format does not have"),
	MEMBER(struct import, words, TEXT, "the same as readable text"),
	MEMBER(struct import, notes, TEXTS, "further remarks"),
};
const struct shape shape_import = SHAPE("Import", struct import, import_members);

static const struct member selected_members[] = {
	MEMBER(struct part_selected, filter, TEXT, NULL, .nullable = true),
	MEMBER(struct part_selected, from, TEXT, NULL, .nullable = true),
	MEMBER(struct part_selected, until, TEXT, NULL, .nullable = true),
	MEMBER(struct part_selected, selected_allocations, COUNT,
	       "number of allocations in the answer"),
};
static const struct shape shape_selected =
	SHAPE("PartSelected", struct part_selected, selected_members);

static const struct member window_members[] = {
	MEMBER(struct part_window, from, TEXT, NULL, .nullable = true),
	MEMBER(struct part_window, until, TEXT, NULL, .nullable = true),
};
static const struct shape shape_window = SHAPE("PartWindow", struct part_window, window_members);

static const struct member loss_members[] = {
	MEMBER(struct losses, no_space, COUNT, "no chunk was free"),
	MEMBER(struct losses, nested, COUNT, "in nested signal handlers"),
	MEMBER(struct losses, no_thread, COUNT, "no memory for a thread's state"),
	MEMBER(struct losses, startup, COUNT, "before the recorder was ready"),
	MEMBER(struct losses, truncated, COUNT, "stacks that were cut short"),
	MEMBER(struct losses, stopped, COUNT, "after recording had stopped, at least"),
};
static const struct shape shape_losses = SHAPE("Losses", struct losses, loss_members);

static const struct member module_members[] = {
	MEMBER(struct unnamed_module, module, TEXT, "its path"),
	MEMBER(struct unnamed_module, reason, TEXT, "why its functions have no names"),
};
static const struct shape shape_module =
	SHAPE("UnnamedModule", struct unnamed_module, module_members);

static const struct member quality_members[] = {
	MEMBER(struct quality, selected, FLAT, NULL, .shape = &shape_selected, .optional = true),
	MEMBER(struct quality, window, FLAT, NULL, .shape = &shape_window, .optional = true),
	MEMBER(struct quality, lost_events, COUNT, "events that were not recorded"),
	MEMBER(struct quality, lost, OBJECT, "by reason", .shape = &shape_losses),
	MEMBER(struct quality, truncated_stacks, COUNT, "events with unknown outer frames"),
	MEMBER(struct quality, missing_chunks, COUNT, "missing pieces of the tape"),
	MEMBER(struct quality, damaged_places, COUNT, NULL),
	MEMBER(struct quality, paused_ns, NS, "for how long no allocations were recorded"),
	MEMBER(struct quality, fault, TEXT, "why recording ended early", .nullable = true),
	MEMBER(struct quality, import, OBJECT, "of a tape made from another tool's file",
	       .shape = &shape_import, .optional = true),
	MEMBER(struct quality, edits, TEXTS, "what was stripped or anonymised later",
	       .optional = true),
	MEMBER(struct quality, unnamed_modules, ROWS, NULL, .shape = &shape_module),
};
const struct shape shape_quality = SHAPE("Quality", struct quality, quality_members);

/* --- import, edits -------------------------------------------------------------------------- */

static struct err *missing_find(uint32_t bits, struct arena *arena, struct import *import)
{
	const char **items = arena_array(arena, TAPE_MISSING_COUNT, sizeof(*items));
	CLEAN(str_deinit) struct str words = { 0 };

	if (!items)
		return err_nomem();
	import->missing.items = items;
	for (unsigned bit = 0; bit < TAPE_MISSING_COUNT; bit++)
		if (bits >> bit & 1)
			items[import->missing.count++] = model_missing_key(bit);
	model_missing_add(&words, bits);
	import->words = words.failed ? NULL : arena_strdup(arena, str_text(&words));
	return import->words ? NULL : err_nomem();
}

struct err *import_find(const struct model *model, struct arena *arena,
			const struct import **import_ret)
{
	const struct model_import *from = NULL;
	struct import *import = NULL;
	struct err *err = model_import_get(model, arena, &from);

	*import_ret = NULL;
	if (err || !from)
		return err;
	import = arena_new(arena, struct import);
	if (!import)
		return err_nomem();
	*import = (struct import) {
		.format = from->format,
		.tool = from->tool[0] ? from->tool : NULL,
		.file = from->file,
		.notes = { (const char *const *)from->notes, from->note_count },
	};
	*import_ret = import;
	return missing_find(from->missing, arena, import);
}

struct err *edits_find(const struct model *model, struct arena *arena, struct shape_texts *edits)
{
	const size_t most = model_note_count(model);
	const struct model_note *edit;
	const char **items = NULL;
	size_t at = 0;

	*edits = (struct shape_texts) { 0 };
	while ((edit = edits_next(model, &at))) {
		CLEAN(str_deinit) struct str words = { 0 };

		if (!items)
			items = arena_array(arena, most, sizeof(*items));
		edit_words(model, edit, &words);
		if (!items || words.failed)
			return err_nomem();
		items[edits->count] = arena_strdup(arena, str_text(&words));
		if (!items[edits->count++])
			return err_nomem();
	}
	edits->items = items;
	return NULL;
}

/* --- quality -------------------------------------------------------------------------------- */

static struct err *part_find(const struct asked *asked, struct quality *quality)
{
	struct part_selected *selected = arena_new(asked->arena, struct part_selected);
	struct part_window *window = arena_new(asked->arena, struct part_window);

	if (!selected || !window)
		return err_nomem();
	*selected =
		(struct part_selected) { asked->with->filter, asked->with->from, asked->with->until,
					 asked->selection ? asked->selection->count : 0 };
	*window = (struct part_window) { asked->with->from, asked->with->until };
	if (asked->selection && !selection_is_all(asked->selection))
		quality->selected = selected;
	else if (asked->has_window)
		quality->window = window;
	return NULL;
}

/* --- modules without names ------------------------------------------------------------------ */

struct unnamed {
	const struct model *model;
	const struct names *names;
	size_t at; /* the next module */
};

/* The next module that was shown, but without its best names. */
static struct err *unnamed_next(void *state, void *row, bool *has_ret)
{
	struct unnamed *unnamed = state;
	struct unnamed_module *module = row;

	*has_ret = false;
	while (!*has_ret && unnamed->at < model_module_count(unnamed->model)) {
		const size_t i = unnamed->at++;
		const enum symbol_state found = names_module_state(unnamed->names, i);

		if (found != SYMBOL_MISSING && found != SYMBOL_STALE && found != SYMBOL_NONE)
			continue;
		module->module = model_module(unnamed->model, i)->path;
		module->reason = symbol_state_text(found);
		*has_ret = true;
	}
	return NULL;
}

/* Evaluated while it is written, after everything that is shown with names. */
static struct err *unnamed_find(const struct asked *asked, struct shape_rows *rows)
{
	struct unnamed *unnamed = arena_new(asked->arena, struct unnamed);

	if (!unnamed)
		return err_nomem();
	*unnamed = (struct unnamed) { asked->model, asked->names, 0 };
	*rows = (struct shape_rows) { .next = unnamed_next, .state = unnamed };
	return NULL;
}

struct err *quality_find(const struct asked *asked, struct quality *quality)
{
	const struct model_quality *of = model_quality(asked->model);
	struct err *err;

	*quality = (struct quality) {
		.lost_events = of->lost_events,
		.lost = { .no_space = of->lost[TAPE_LOST_NO_SPACE],
			  .nested = of->lost[TAPE_LOST_NESTED],
			  .no_thread = of->lost[TAPE_LOST_NO_THREAD],
			  .startup = of->lost[TAPE_LOST_STARTUP],
			  .truncated = of->lost[TAPE_LOST_TRUNCATED],
			  .stopped = of->lost[TAPE_LOST_STOPPED] },
		.truncated_stacks = model_totals(asked->model)->truncated_stack_count,
		.missing_chunks = of->missing_chunk_count,
		.damaged_places = model_damage_count(asked->model),
		.paused_ns = pauses_ns(asked->model),
		.fault = of->fault == TAPE_FAULT_NONE ? NULL : of->fault_text,
	};
	err = part_find(asked, quality);
	if (!err)
		err = import_find(asked->model, asked->arena, &quality->import);
	if (!err)
		err = edits_find(asked->model, asked->arena, &quality->edits);
	return err ? err : unnamed_find(asked, &quality->unnamed_modules);
}
