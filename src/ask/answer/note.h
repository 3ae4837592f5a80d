/*
 * note: rows for actions other than allocating: marks set by the program, and its allocator tuning.
 * Internal to answer.
 */
#ifndef MEMTAPE_ANSWER_NOTE_H
#define MEMTAPE_ANSWER_NOTE_H

#include "answer/question.h"

/* The thread's id; SHAPE_NONE: not known. */
static inline uint64_t note_tid(const struct model *model, uint32_t thread)
{
	return thread == MODEL_NO_THREAD ? SHAPE_NONE : model_thread(model, thread)->tid;
}

/*
 * The next note from *at on of either type within the requested time; advances *at past it. NULL:
 * no more.
 */
static inline const struct model_note *note_next(const struct asked *asked, enum tape_extended type,
						 enum tape_extended other, size_t *at)
{
	while (*at < model_note_count(asked->model)) {
		const struct model_note *note = &model_notes(asked->model)[(*at)++];

		if (note->type != type && note->type != other)
			continue;
		if (!asked->has_window ||
		    (note->ns >= asked->from_ns && note->ns <= asked->until_ns))
			return note;
	}
	return NULL;
}

#endif
