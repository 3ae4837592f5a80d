/*
 * recording_notes: notes about the tape itself: programs before an exec, later edits, allocators
 * with names of their own, pauses, and looks at touched pages. Part of the answer `recording`.
 */
#ifndef MEMTAPE_QUESTIONS_RECORDING_NOTES_H
#define MEMTAPE_QUESTIONS_RECORDING_NOTES_H

#include "answer/question.h"

/* items is NULL in empty lists. */
struct recording_notes {
	struct shape_rows before, edits, allocators, pauses, looks;
};

extern const struct shape shape_recording_notes;

struct err *recording_notes_find(const struct asked *asked, struct recording_notes *notes);

#endif
