/*
 * edits: what was done to a tape after it was recorded, in words: what readers must mind.
 */
#ifndef MEMTAPE_FINDINGS_EDITS_H
#define MEMTAPE_FINDINGS_EDITS_H

#include "base/str.h"
#include "model/model.h"

/* The next edit from note *at on, and *at behind it; NULL: there are no more. *at begins at 0. */
const struct model_note *edits_next(const struct model *model, size_t *at);

/* One sentence without a full stop. Its filter is not escaped. */
void edit_words(const struct model_note *edit, struct str *out);

/* " · stripped", " · anonymised": for captions; nothing on a tape as it was recorded. */
void edits_caption(const struct model *model, struct str *out);

#endif
