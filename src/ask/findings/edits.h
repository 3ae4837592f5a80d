/*
 * edits: what was left out of a tape or changed - after recording, or to keep it small meanwhile -
 * in words, as warnings to readers.
 */
#ifndef MEMTAPE_FINDINGS_EDITS_H
#define MEMTAPE_FINDINGS_EDITS_H

#include "base/str.h"
#include "model/model.h"

/* The next edit from note *at on; advances *at past it. NULL: no more. *at starts at 0. */
const struct model_note *edits_next(const struct model *model, size_t *at);

/* One sentence without a full stop. Its filter is not escaped. */
void edit_words(const struct model *model, const struct model_note *edit, struct str *out);

/* What was left out while it was recorded; NULL: nothing was. */
const struct tape_rotated *rotated_find(const struct model *model);

/* " · stripped", " · anonymised", " · rotated": for captions; empty for an unmodified tape. */
void edits_caption(const struct model *model, struct str *out);

#endif
