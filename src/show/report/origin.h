/*
 * origin: what a tape was made of when memtape did not record it, and what it lost on purpose, as
 * JSON. Shared by reports and the server. Any number of threads, each with an emit of its own.
 */
#ifndef MEMTAPE_REPORT_ORIGIN_H
#define MEMTAPE_REPORT_ORIGIN_H

#include "base/emit.h"
#include "model/import.h"

/* Members of an object that is open: format, tool (or null), file, missing, notes. */
void origin_import_members(struct emit *emit, const struct model_import *import);

/* The list "edits": a sentence for each time the tape was stripped or anonymised. */
void origin_edits(struct emit *emit, const struct model *model);

#endif
