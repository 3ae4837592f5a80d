/*
 * top_tape: one tape that is followed while it is being written, by a thread: who records is asked to bring
 * the tape up to date, what was appended is read (top_follow.h), and what was found is handed over. The
 * program itself is not touched. Findings and filters need the whole tape: it is read seldom, as the server
 * reads it (http/tapes.h). So is a tape that cannot be followed: one without a collector, or with more in
 * memory than MODEL_FOLLOWING_BYTES.
 *
 * All functions are for the thread that has opened it.
 */
#ifndef MEMTAPE_CLI_TOP_TAPE_H
#define MEMTAPE_CLI_TOP_TAPE_H

#include <sys/types.h>

#include "cli/reading.h"
#include "questions/findings.h"
#include "questions/timeline.h"

enum { TOP_TEXT_BYTES = 256, TOP_COST_MAX = 30 };

/* What is asked about the tape. */
struct top_asked {
	enum now_order order;
	const char *last; /* as the question takes it; static */
	uint64_t points, top;
	char filter[TOP_TEXT_BYTES]; /* "": none */
};

struct top_settings {
	uint64_t interval_ns;  /* between two looks */
	uint64_t cost_percent; /* of a processor, more or less; from 1 to TOP_COST_MAX */
	bool follows;	       /* there will be more than one look: the tape is followed */
	const struct reading_symbol_options *symbols;
	struct top_asked asked; /* at first */
};

struct top_part;

/* What was found at one time. */
struct top_look {
	const struct now_answer *now;		/* NULL: not yet */
	const struct findings_answer *findings; /* NULL: not yet */
	char state[TOP_TEXT_BYTES];		/* "recording" ... */
	char trouble[TOP_TEXT_BYTES];		/* "": none */
	bool has_ended;
	uint64_t duration_ns; /* of the recording, which may be longer than that of the figures */
	uint64_t rss_bytes;   /* by its last look; UINT64_MAX: unknown */
	struct top_part *now_part, *findings_part;
};

void top_look_destroy(struct top_look *look); /* NULL is fine */
CLEAN_DEFINE(top_look_destroy, struct top_look *);

/* Its answers, as members `now` and `findings` of the open object. Both are there. */
struct err *top_look_speak(const struct top_look *look, struct emit *emit);

struct top_tape;

/* settings' symbols are borrowed. ERR_FORMAT and others: it is no tape. */
struct err *top_tape_open(const char *path, const struct top_settings *settings,
			  struct top_tape **tape_ret);
void top_tape_close(struct top_tape *tape); /* no look may be held any more; NULL is fine */
CLEAN_DEFINE(top_tape_close, struct top_tape *);

uint64_t top_tape_pid(const struct top_tape *tape);
const char *top_tape_path(const struct top_tape *tape);

/* From now on this is asked. rereads: the tape is read at once, whatever that costs. */
void top_tape_ask(struct top_tape *tape, const struct top_asked *asked, bool rereads);

/* The newest look, which is the caller's; NULL: there is none since the last time. */
struct top_look *top_tape_take(struct top_tape *tape);

/* Readable when there is a look to take. */
int top_tape_fd(const struct top_tape *tape);

#endif
