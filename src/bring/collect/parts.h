/*
 * parts: takes chunks that the recorder is still writing in parts, so that a tape being watched has
 * everything up to the present and not only full chunks.
 *
 * Each part of a slot is a separate chunk on the tape; the next part, or the rest, begins where the
 * last one ended: its records are re-encoded from there, since a chunk begins with an empty codec,
 * and later chunks of the stream are renumbered. The recorder is not aware of it.
 */
#ifndef MEMTAPE_COLLECT_PARTS_H
#define MEMTAPE_COLLECT_PARTS_H

#include "collect/spool.h"

struct parts;

/* spool is borrowed. NULL: out of memory. Nothing is taken in parts before parts_begin. */
struct parts *parts_create(const struct spool *spool);
void parts_destroy(struct parts *parts); /* NULL is fine */
CLEAN_DEFINE(parts_destroy, struct parts *);

/* From now on chunks are taken in parts; those that were taken so far were whole. */
void parts_begin(struct parts *parts);
bool parts_have_begun(const struct parts *parts);

/*
 * Reduces chunk, a copy of the whole slot, to what has not been taken yet. After that the next
 * chunk of its stream is expected.
 */
void parts_rest(struct parts *parts, uint32_t index, struct tape_chunk *chunk);

/* Sets the number on the tape of chunk, which is in no slot and of which nothing was taken. */
void parts_whole(struct parts *parts, struct tape_chunk *chunk);

/*
 * The same for a slot still being written, with records up to until_ticks (shifted). False: there
 * is nothing new, or an earlier chunk of its stream comes first. The part counts as taken.
 */
bool parts_take(struct parts *parts, uint32_t index, uint64_t until_ticks,
		struct tape_chunk *chunk);

/*
 * The same for the last time, regardless of order between streams, for a slot in any state; those
 * of one stream must come in order. Records later than until_ticks are never requested again.
 */
bool parts_last(struct parts *parts, uint32_t index, uint64_t until_ticks,
		struct tape_chunk *chunk);

#endif
