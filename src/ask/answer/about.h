/*
 * about: what readers of any answer must know about its source: what was suppressed, lost, cut,
 * damaged or changed later, and modules without names. Part of most results.
 */
#ifndef MEMTAPE_ANSWER_ABOUT_H
#define MEMTAPE_ANSWER_ABOUT_H

#include "answer/question.h"

/* --- a tape that was made of another tool's file --------------------------------------------- */

struct import {
	const char *format;
	const char *tool;
	const char *file;
	struct shape_texts missing;
	const char *words;
	struct shape_texts notes;
};

extern const struct shape shape_import;

/* NULL: recorded, not converted. */
struct err *import_find(const struct model *model, struct arena *arena,
			const struct import **import_ret);

/* One sentence for each strip or anonymise; items NULL: none. */
struct err *edits_find(const struct model *model, struct arena *arena, struct shape_texts *edits);

/* --- pauses ---------------------------------------------------------------------------------- */

struct paused {
	uint64_t ns, count;
	bool is_at_end; /* it was not resumed */
	struct shape_rows rows;
};

extern const struct shape shape_pause; /* of the rows */

/* With the last `max` of them, in order of time; items NULL: there are none. */
struct err *paused_find(const struct model *model, struct arena *arena, size_t max,
			struct paused *paused);

/* --- a process that ran already --------------------------------------------------------------- */

struct attached_before {
	uint64_t count, bytes;
	bool is_complete;
	const char *trouble;
};

struct attached {
	uint64_t at_ns, pause_ns, places, other_places, functions;
	struct attached_before before;
};

extern const struct shape shape_attached;

/* NULL: it was recorded from its start. */
struct err *attached_find(const struct model *model, struct arena *arena,
			  const struct attached **attached_ret);

/* --- what is suppressed ---------------------------------------------------------------------- */

struct suppressed_rule {
	const char *rule;
	const char *reason;
	uint64_t bytes, count;
};

struct suppressed_answer {
	uint64_t bytes, count;
	const char *file;
	struct shape_rows rules;
};

extern const struct shape shape_suppressed;

/* NULL: the question does not concern leaks. */
struct err *suppressed_find(const struct asked *asked, const struct suppressed_answer **answer_ret);

/* --- how good the tape is -------------------------------------------------------------------- */

struct part_selected {
	const char *filter, *from, *until;
	uint64_t selected_allocations;
};

struct part_window {
	const char *from, *until;
};

struct losses {
	uint64_t no_space, nested, no_thread, startup, truncated, stopped;
};

struct unnamed_module {
	const char *module;
	const char *reason;
};

struct quality {
	const struct part_selected *selected; /* one of the two, or none */
	const struct part_window *window;
	uint64_t lost_events;
	struct losses lost;
	uint64_t truncated_stacks, missing_chunks, damaged_places, paused_ns;
	const char *fault;
	const struct import *import;
	struct shape_texts edits;
	struct shape_rows unnamed_modules;
};

extern const struct shape shape_quality;

/* Names looked up before this is written count for unnamed_modules: write it last. */
struct err *quality_find(const struct asked *asked, struct quality *quality);

/* --- */

struct about {
	const struct suppressed_answer *suppressed;
	struct quality quality;
};

extern const struct shape shape_about;

struct err *about_find(const struct asked *asked, struct about *about);

#endif
