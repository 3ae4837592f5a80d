/*
 * top_follow: a tape that is followed as it grows (model/following.h), with the names of its functions, and
 * answers about it. Shared by the thread that follows it and by those that hold answers; all functions
 * are thread-safe.
 */
#ifndef MEMTAPE_CLI_TOP_FOLLOW_H
#define MEMTAPE_CLI_TOP_FOLLOW_H

#include "answer/question.h"
#include "base/emit.h"
#include "model/following.h"
#include "model/names.h"

struct top_follow;

/* The clocks a tape may have, unshifted, at one moment. */
struct top_clocks {
	uint64_t ticks, ns;
};

struct top_clocks top_clocks_now(void);

/* path and symbols are borrowed as long as it lives. Errors: those of model_following_open. */
struct err *top_follow_open(const char *path, const struct symbol_options *symbols,
			    struct top_follow **follow_ret);
struct top_follow *top_follow_keep(struct top_follow *follow);
void top_follow_drop(struct top_follow *follow); /* NULL is fine */
CLEAN_DEFINE(top_follow_drop, struct top_follow *);

/*
 * As model_following_look, and finds the names of what is new. clocks: at the moment before who records was
 * asked to bring the tape up to date.
 */
struct err *top_follow_look(struct top_follow *follow, const struct top_clocks *clocks,
			    uint64_t late_ns, const bool *cancel);

/* The question `now`, without a filter, about the last look. The answer lives in the arena. */
struct err *top_follow_ask(struct top_follow *follow, const struct parameters *with,
			   const bool *cancel, struct arena *arena, const void **answer_ret);

/* An answer about it, whichever look it was of, as a member of the open object. */
struct err *top_follow_speak(struct top_follow *follow, const void *answer,
			     const struct shape *shape, const char *key, struct emit *emit);

#endif
