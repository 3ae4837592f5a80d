#include "report/origin.h"

#include "base/str.h"
#include "findings/edits.h"

void origin_import_members(struct emit *emit, const struct model_import *import)
{
	emit_text(emit, "format", import->format);
	emit_text(emit, "tool", import->tool[0] ? import->tool : NULL);
	emit_text(emit, "file", import->file);
	emit_list(emit, "missing");
	for (unsigned bit = 0; bit < TAPE_MISSING_COUNT; bit++) {
		if (import->missing >> bit & 1)
			emit_text(emit, NULL, model_missing_key(bit));
	}
	emit_end(emit);
	emit_list(emit, "notes");
	for (size_t i = 0; i < import->note_count; i++)
		emit_text(emit, NULL, import->notes[i]);
	emit_end(emit);
}

void origin_edits(struct emit *emit, const struct model *model)
{
	const struct model_note *edit;
	size_t at = 0;

	emit_list(emit, "edits");
	while ((edit = edits_next(model, &at))) {
		CLEAN(str_deinit) struct str words = { 0 };

		edit_words(edit, &words);
		emit_text(emit, NULL, str_text(&words));
	}
	emit_end(emit);
}
