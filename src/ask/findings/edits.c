#include "findings/edits.h"

#include <assert.h>

const struct model_note *edits_next(const struct model *model, size_t *at)
{
	const struct model_note *notes = model_notes(model);

	assert(*at <= model_note_count(model));
	while (*at < model_note_count(model)) {
		const struct model_note *note = &notes[(*at)++];

		if (note->type == TAPE_EXT_EDIT || note->type == TAPE_EXT_ROTATED)
			return note;
	}
	return NULL;
}

static void begin_part(struct str *out, bool *is_first)
{
	str_add(out, *is_first ? " " : ", ");
	*is_first = false;
}

static void add_reasons(const struct model_note *note, struct str *out)
{
	const struct tape_edit *edit = &note->edit;
	bool is_first = true;

	if (edit->what & TAPE_EDIT_LIFETIME) {
		begin_part(out, &is_first);
		str_add(out, "freed in less than ");
		str_add_duration(out, edit->min_lifetime_ns);
	}
	if (edit->what & TAPE_EDIT_CUT) {
		begin_part(out, &is_first);
		str_add(out, "not alive between ");
		str_add_duration(out, edit->from_ns);
		str_add(out, " and ");
		if (edit->until_ns == UINT64_MAX)
			str_add(out, "the end");
		else
			str_add_duration(out, edit->until_ns);
	}
	if (edit->what & TAPE_EDIT_FILTER) {
		begin_part(out, &is_first);
		str_add(out, "not selected by ");
		str_add(out, note->text);
	}
}

static void add_parts(const struct tape_edit *edit, struct str *out)
{
	static const struct {
		uint32_t flag;
		const char *words;
	} parts[] = {
		{ TAPE_EDIT_FREE_STACKS, "stacks of frees" },
		{ TAPE_EDIT_NAMES, "embedded names" },
		{ TAPE_EDIT_SPACE, "snapshots of the address space" },
	};
	bool is_first = true;

	for (size_t i = 0; i < array_size(parts); i++) {
		if (!(edit->what & parts[i].flag))
			continue;
		str_add(out, is_first ? "; without " : ", ");
		str_add(out, parts[i].words);
		is_first = false;
	}
}

static void add_stripped(const struct model_note *note, struct str *out)
{
	const struct tape_edit *edit = &note->edit;

	str_add(out, "stripped of ");
	str_add_grouped(out, edit->stripped_count);
	str_add(out, edit->stripped_count == 1 ? " allocation (" : " allocations (");
	str_add_iec(out, edit->stripped_bytes);
	str_add_char(out, ')');
	add_reasons(note, out);
	str_add(out, ": sums of what was allocated, freed and temporary are without them");
	if (edit->hidden_bytes > 0) {
		str_add(out, ", and at times up to ");
		str_add_iec(out, edit->hidden_bytes);
		str_add(out, " more was alive than is shown");
	}
}

const struct tape_rotated *rotated_find(const struct model *model)
{
	const struct model_note *notes = model_notes(model);

	for (size_t i = model_note_count(model); i-- > 0;)
		if (notes[i].type == TAPE_EXT_ROTATED)
			return &notes[i].rotated;
	return NULL;
}

static void add_rotated(const struct model *model, const struct tape_rotated *rotated,
			struct str *out)
{
	const uint64_t from_ns = model_ns(model, rotated->from_ticks);

	str_add(out, "rotated, without ");
	str_add_counted(out, rotated->allocated_count, "allocation");
	str_add(out, " (");
	str_add_iec(out, rotated->allocated_bytes);
	str_add(out, ") that were freed before ");
	str_add_duration(out, from_ns);
	str_add(out, ": sums, curves and reports of what was freed are complete from then on; "
		     "before it at most ");
	str_add_iec(out, rotated->peak_bytes);
	str_add(out, " was alive, after ");
	str_add_duration(out, model_ns(model, rotated->peak_ticks));
	if (rotated->record_count > 0) {
		str_add(out, "; also left out: ");
		str_add_counted(out, rotated->record_count, "mark, sample or other record");
	}
}

void edit_words(const struct model *model, const struct model_note *note, struct str *out)
{
	const uint32_t leaves_out = TAPE_EDIT_LIFETIME | TAPE_EDIT_CUT | TAPE_EDIT_FILTER;
	const struct tape_edit *edit = &note->edit;

	if (note->type == TAPE_EXT_ROTATED) {
		add_rotated(model, &note->rotated, out);
		return;
	}
	assert(note->type == TAPE_EXT_EDIT);
	if (edit->what & TAPE_EDIT_ANONYMISED)
		str_add(out, "anonymised: names, paths, numbers of processes and addresses are not "
			     "those of the recording");
	else if (edit->what & leaves_out)
		add_stripped(note, out);
	else
		str_add(out, "edited");
	add_parts(edit, out);
}

void edits_caption(const struct model *model, struct str *out)
{
	const struct model_note *note;
	uint32_t what = 0;
	size_t at = 0;

	while ((note = edits_next(model, &at)))
		if (note->type == TAPE_EXT_EDIT)
			what |= note->edit.what;
	if (rotated_find(model))
		str_add(out, " · rotated");
	if (what & ~(uint32_t)TAPE_EDIT_ANONYMISED)
		str_add(out, " · stripped");
	if (what & TAPE_EDIT_ANONYMISED)
		str_add(out, " · anonymised");
}
