/*
 * top_part: an answer about a tape that is followed (top_tape.h), with all that it points to. Shared by
 * the thread that has found it and the one that shows it.
 */
#ifndef MEMTAPE_CLI_TOP_PART_H
#define MEMTAPE_CLI_TOP_PART_H

#include "answer/question.h"
#include "base/arena.h"
#include "base/emit.h"
#include "cli/top_follow.h"
#include "http/tapes.h"

struct top_part {
	unsigned refs;	  /* atomic */
	const char *path; /* of the tape, borrowed */
	struct arena arena;
	struct loaded *loaded, *whole; /* what it is about; it is of `whole` if of pools */
	struct names *names;
	struct top_follow *follow; /* instead: what it is about */
	const void *answer;	   /* of the question's shape */
};

/*
 * Asks about the tape's reading at present; waits for the names of functions. cancel: read atomically.
 * ERR_USAGE: a parameter is wrong; ERR_STATE: there is no reading, or it was cancelled.
 */
struct err *top_part_make(struct tape *tape, const struct question *question,
			  const struct parameters *with, const bool *cancel,
			  struct top_part **part_ret);

/* Asks `now` about a tape that is followed. */
struct err *top_part_make_followed(struct top_follow *follow, const struct parameters *with,
				   const bool *cancel, struct top_part **part_ret);

struct top_part *top_part_keep(struct top_part *part); /* one more; NULL is fine */
void top_part_drop(struct top_part *part);	       /* NULL is fine */
CLEAN_DEFINE(top_part_drop, struct top_part *);

/* Number of the reading that it is about (struct loaded); 0: it is followed. */
uint64_t top_part_reading(const struct top_part *part);

/* The answer as a member of the open object. */
struct err *top_part_speak(const struct top_part *part, const struct shape *shape, const char *key,
			   struct emit *emit);

#endif
