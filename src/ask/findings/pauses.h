/*
 * pauses: the times in which a recording was paused: no allocation from then is on the tape.
 */
#ifndef MEMTAPE_FINDINGS_PAUSES_H
#define MEMTAPE_FINDINGS_PAUSES_H

#include "base/str.h"
#include "model/model.h"

struct pause {
	uint64_t begin_ns, end_ns; /* MODEL_NEVER: to the end of the tape */
	enum tape_paused_by by;	   /* who or what paused */
};

/* The next pause from note *at on; advances *at past it. False: no more. *at starts at 0. */
bool pauses_next(const struct model *model, size_t *at, struct pause *pause);

/*
 * Whether there were blocks whose allocation is not on the tape, as is known: from before recording
 * began, or from a pause. Their frees are no mistakes.
 */
bool pauses_hide_blocks(const struct model *model);

/* How long they were in all. */
uint64_t pauses_ns(const struct model *model);

/* One sentence without a full stop; nothing for a tape without pauses. */
void pauses_words(const struct model *model, struct str *out);

/* Who or what paused: "start", "program", "signal", "control", "time"; NULL-terminated. */
extern const char *const pause_by_words[];

#endif
