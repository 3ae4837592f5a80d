#include "questions/recording_notes.h"

#include "answer/about.h"
#include "findings/allocators.h"
#include "findings/edits.h"
#include "space/touches.h"

struct program_before {
	uint64_t allocations, peak_bytes;
	const char *program;
};

struct edit_row {
	const char *words;
	uint64_t stripped_allocations, stripped_bytes, hidden_bytes;
	bool anonymised;
};

struct allocator_row {
	const char *name, *prefix;
	uint64_t functions, objects, places;
	bool asked;
	const char *path, *warning;
};

struct looks_row {
	const char *noticed;
	uint64_t looks, period_ns;
	const char *precision, *blind, *trouble;
};

static const struct member before_members[] = {
	MEMBER(struct program_before, allocations, COUNT, NULL),
	MEMBER(struct program_before, peak_bytes, BYTES, NULL),
	MEMBER(struct program_before, program, TEXT, "its path", .left = true),
};
static const struct shape shape_before =
	SHAPE("ProgramBefore", struct program_before, before_members);

static const struct member edit_members[] = {
	MEMBER(struct edit_row, words, TEXT, "a sentence", .title = "What was done", .left = true),
	MEMBER(struct edit_row, stripped_allocations, COUNT, "left out", .is_data = true),
	MEMBER(struct edit_row, stripped_bytes, BYTES, "of these", .is_data = true),
	MEMBER(struct edit_row, hidden_bytes, BYTES, "of names replaced", .is_data = true),
	MEMBER(struct edit_row, anonymised, FLAG, NULL, .is_data = true),
};
static const struct shape shape_edit = SHAPE("RecordingEdit", struct edit_row, edit_members);

static const struct member allocator_members[] = {
	MEMBER(struct allocator_row, name, TEXT, NULL, .left = true),
	MEMBER(struct allocator_row, prefix, TEXT, "of its functions", .left = true),
	MEMBER(struct allocator_row, functions, COUNT, "that are recorded"),
	MEMBER(struct allocator_row, objects, COUNT, "that call them",
	       .title = "Called by objects"),
	MEMBER(struct allocator_row, places, COUNT, "in these", .is_data = true),
	MEMBER(struct allocator_row, asked, FLAG, "by --allocator", .is_data = true),
	MEMBER(struct allocator_row, path, TEXT, "of the object that has them", .left = true,
	       .nullable = true),
	MEMBER(struct allocator_row, warning, TEXT, "what is not recorded of it, and what to do",
	       .is_data = true, .nullable = true),
};
static const struct shape shape_allocator =
	SHAPE("RecordingAllocator", struct allocator_row, allocator_members);

static const struct member looks_members[] = {
	MEMBER(struct looks_row, noticed, TEXT, "what counts as a touch", .left = true,
	       .words = touches_noticed),
	MEMBER(struct looks_row, looks, COUNT, NULL),
	MEMBER(struct looks_row, period_ns, NS, "wanted between two looks", .title = "Every"),
	MEMBER(struct looks_row, precision, TEXT, "what that leaves out", .left = true),
	MEMBER(struct looks_row, blind, TEXT, "why what is only read is not noticed", .left = true,
	       .title = "Reads are not seen", .nullable = true),
	MEMBER(struct looks_row, trouble, TEXT, "why there are no more looks", .left = true,
	       .nullable = true),
};
static const struct shape shape_looks = SHAPE("RecordingLooks", struct looks_row, looks_members);

static const struct member notes_members[] = {
	MEMBER(struct recording_notes, before, ROWS, "what the process was before it executed this",
	       .shape = &shape_before, .title = "Programs before it", .optional = true),
	MEMBER(struct recording_notes, edits, ROWS, "what was done to it later",
	       .shape = &shape_edit, .title = "Edited after it was recorded", .optional = true),
	MEMBER(struct recording_notes, allocators, ROWS, "with names of their own",
	       .shape = &shape_allocator, .title = "Other allocators", .optional = true),
	MEMBER(struct recording_notes, pauses, ROWS, "when no allocations were recorded",
	       .shape = &shape_pause, .title = "Pauses", .optional = true),
	MEMBER(struct recording_notes, looks, ROWS, "at which pages were touched: one row",
	       .shape = &shape_looks, .title = "Looks at touched pages", .optional = true),
};
const struct shape shape_recording_notes =
	SHAPE("RecordingNotes", struct recording_notes, notes_members);

static struct err *before_fill(const struct asked *asked, struct shape_rows *rows)
{
	const struct model_note *notes = model_notes(asked->model);
	const size_t note_count = model_note_count(asked->model);
	struct program_before *items = arena_array(asked->arena, note_count, sizeof(*items));
	size_t count = 0;

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < note_count; i++) {
		if (notes[i].type != TAPE_EXT_BEFORE)
			continue;
		items[count++] = (struct program_before) {
			notes[i].before.allocation_count,
			notes[i].before.peak_bytes,
			notes[i].text,
		};
	}
	*rows = (struct shape_rows) { .items = count ? items : NULL, .count = count };
	return NULL;
}

static struct err *edit_fill(const struct model *model, const struct model_note *edit,
			     struct arena *arena, struct edit_row *row)
{
	CLEAN(str_deinit) struct str words = { 0 };

	edit_words(model, edit, &words);
	*row = (struct edit_row) {
		.words = words.failed ? NULL : arena_strdup(arena, str_text(&words)),
		.stripped_allocations = edit->edit.stripped_count,
		.stripped_bytes = edit->edit.stripped_bytes,
		.hidden_bytes = edit->edit.hidden_bytes,
		.anonymised = edit->edit.what & TAPE_EDIT_ANONYMISED,
	};
	if (edit->type == TAPE_EXT_ROTATED)
		*row = (struct edit_row) {
			.words = row->words,
			.stripped_allocations = edit->rotated.allocated_count,
			.stripped_bytes = edit->rotated.allocated_bytes,
		};
	return row->words ? NULL : err_nomem();
}

static struct err *edit_rows_fill(const struct asked *asked, struct shape_rows *rows)
{
	struct edit_row *items =
		arena_array(asked->arena, model_note_count(asked->model), sizeof(*items));
	const struct model_note *edit;
	struct err *err = items ? NULL : err_nomem();
	size_t at = 0;

	while (!err && (edit = edits_next(asked->model, &at)))
		err = edit_fill(asked->model, edit, asked->arena, &items[rows->count++]);
	rows->items = rows->count ? items : NULL;
	return err;
}

static struct err *allocator_fill(const struct allocator_seen *seen, struct arena *arena,
				  struct allocator_row *row)
{
	const struct tape_allocator *allocator = &seen->note->allocator;
	CLEAN(str_deinit) struct str words = { 0 };
	const bool complains = allocator_complaint(seen, &words);

	*row = (struct allocator_row) {
		.name = arena_strdup(arena, seen->name),
		.prefix = arena_strdup(arena, seen->prefix),
		.functions = allocator->functions,
		.objects = allocator->objects,
		.places = allocator->places,
		.asked = allocator->flags & TAPE_ALLOCATOR_ASKED,
		.path = seen->path,
		.warning = complains ? arena_strdup(arena, str_text(&words)) : NULL,
	};
	return row->name && row->prefix && (row->warning || !complains) ? NULL : err_nomem();
}

static struct err *allocators_fill(const struct asked *asked, struct shape_rows *rows)
{
	struct allocator_row *items =
		arena_array(asked->arena, model_note_count(asked->model), sizeof(*items));
	struct allocator_seen seen;
	struct err *err = items ? NULL : err_nomem();
	size_t at = 0;

	while (!err && allocators_next(asked->model, &at, &seen))
		err = allocator_fill(&seen, asked->arena, &items[rows->count++]);
	rows->items = rows->count ? items : NULL;
	return err;
}

static struct err *looks_fill(const struct asked *asked, struct shape_rows *rows)
{
	CLEAN(touches_deinit) struct touches touches = { 0 };
	struct looks_row *item = arena_array(asked->arena, 1, sizeof(*item));
	struct err *err = item ? touches_find(asked->model, &touches) : err_nomem();

	if (err || (touches.looks.count == 0 && !touches.trouble))
		return err;
	*item = (struct looks_row) {
		.noticed = touches.words->noticed,
		.looks = touches.looks.count,
		.period_ns = touches.period_ns,
		.precision = touches.words->precision,
		.blind = touches.blind,
		.trouble = touches.trouble,
	};
	*rows = (struct shape_rows) { .items = item, .count = 1 };
	return NULL;
}

struct err *recording_notes_find(const struct asked *asked, struct recording_notes *notes)
{
	struct err *err = before_fill(asked, &notes->before);
	struct paused paused;

	if (!err)
		err = edit_rows_fill(asked, &notes->edits);
	if (!err)
		err = allocators_fill(asked, &notes->allocators);
	if (!err)
		err = paused_find(asked->model, asked->arena, SIZE_MAX, &paused);
	if (!err)
		notes->pauses = paused.rows;
	if (!err)
		err = looks_fill(asked, &notes->looks);
	return err;
}
