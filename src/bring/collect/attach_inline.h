/*
 * attach_inline: the first instructions of the allocator's functions lead to the recorder, so that
 * calls by whatever pointer are recorded. A jump takes their place; they stand elsewhere, near the
 * function, in memory that stays when the process is let go: threads may be in there.
 *
 * The recorder has a table of these functions (tape/tape_attach.h), also of what was changed. So who
 * lets go need not be who has attached.
 */
#ifndef MEMTAPE_COLLECT_ATTACH_INLINE_H
#define MEMTAPE_COLLECT_ATTACH_INLINE_H

#include "scan/maps.h"
#include "scan/safe.h"
#include "scan/stop.h"
#include "tape/tape_attach.h"

struct attach_inline;

/*
 * Looks at the functions while the process runs; told is what its recorder has told. ERR_UNSUPPORTED:
 * one of them cannot be changed, and why.
 */
struct err *attach_inline_plan(pid_t pid, const struct safe *safe, const struct tape_attach *told,
			       struct attach_inline **plan_ret);
void attach_inline_destroy(struct attach_inline *plan); /* NULL is fine */
CLEAN_DEFINE(attach_inline_destroy, struct attach_inline *);

/* Whether all threads stand still, and none of them in the middle of what will be changed. */
bool attach_inline_is_moment(const struct attach_inline *plan, const struct stop *stop,
			     const struct maps *maps);

/*
 * Makes the ways that the recorder is told of by memtape_inline(), with the first, and then leads the
 * functions there, with the second. All threads stand still; thread can be made to call something.
 */
struct err *attach_inline_prepare(struct attach_inline *plan, struct stop *stop,
				  struct stop_thread *thread);
struct err *attach_inline_lead(const struct attach_inline *plan);

/* How many functions these are. */
uint32_t attach_inline_count(const struct attach_inline *plan);

/* The functions have again what they had. told is as above; all threads stand still. */
struct err *attach_inline_restore(pid_t pid, const struct tape_attach *told);

#endif
