/*
 * parts: chunks that the recorder still writes, taken in parts, so that a tape which somebody
 * watches has what happened until now and not only what has filled a chunk.
 *
 * What was taken of a slot is a chunk of its own on the tape; when more is taken, or the whole, it
 * begins where the last part ended: its records are written anew from there, since a chunk begins
 * with an empty codec, and the later chunks of its stream are numbered on. The recorder knows
 * nothing of it.
 */
#ifndef MEMTAPE_COLLECT_PARTS_H
#define MEMTAPE_COLLECT_PARTS_H

#include "collect/spool.h"

struct parts;

/* spool is borrowed. NULL: out of memory. */
struct parts *parts_create(const struct spool *spool);
void parts_destroy(struct parts *parts); /* NULL is fine */
CLEAN_DEFINE(parts_destroy, struct parts *);

/*
 * chunk, a copy of the whole slot, becomes what has not been taken of it yet. The next chunk of
 * its stream is expected now.
 */
void parts_rest(struct parts *parts, uint32_t index, struct tape_chunk *chunk);

/* chunk, which is in no slot and of which nothing was taken, gets its number on the tape. */
void parts_whole(struct parts *parts, struct tape_chunk *chunk);

/*
 * The same of a slot that is still written to, with records up to until_ticks (shifted). False:
 * there is nothing new, or it is not its stream's turn. The part counts as taken.
 */
bool parts_take(struct parts *parts, uint32_t index, uint64_t until_ticks,
		struct tape_chunk *chunk);

/*
 * The same for the last time, whosever turn it is, of a slot in any state; those of a stream in
 * their order. What is later than until_ticks is never asked for again.
 */
bool parts_last(struct parts *parts, uint32_t index, uint64_t until_ticks,
		struct tape_chunk *chunk);

#endif
