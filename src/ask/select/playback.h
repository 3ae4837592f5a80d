/*
 * playback: allocations and frees in the order in which they happened, read ahead a batch at a
 * time. Everything that follows memory over time is built on it, so that all have one order:
 *
 *	of equal times frees come before allocations, but never before their own. A realloc is the
 *	free of the old block and then the allocation of the new one.
 *
 *	CLEAN(playback_destroy) struct playback *playback = playback_create(model, selection);
 *	while ((lane = playback_next(playback, MODEL_NEVER))) {
 *		i = playback_at(lane);
 *		... lane->is_frees, lane->rows[i], lane->ns[i], lane->bytes[i]
 *
 * Needs a MODEL_FULL model. Belongs to one thread; takes the memory of three batches.
 */
#ifndef MEMTAPE_SELECT_PLAYBACK_H
#define MEMTAPE_SELECT_PLAYBACK_H

#include "base/clean.h"
#include "select/passes.h"

/* Allocations or frees, read ahead. */
struct playback_lane {
	size_t at; /* after the last one played */
	size_t count;
	bool is_frees;
	uint64_t rows[MODEL_BATCH]; /* the allocations made or freed */
	uint64_t ns[MODEL_BATCH];
	uint64_t bytes[MODEL_BATCH]; /* requested */
};

struct playback {
	struct pass pass; /* of the allocations */
	uint64_t free_next;
	uint64_t free_end;
	struct playback_lane allocations;
	struct playback_lane frees;
	/*
	 * May be NULL. Called when a lane was filled, with count > 0, to read more of its rows.
	 */
	void (*filled)(void *context, const struct playback_lane *lane);
	void *context;
};

/* Plays everything. selection may be NULL (all rows), and must outlive it. NULL: out of memory. */
struct playback *playback_create(const struct model *model, const struct selection *selection);
void playback_destroy(struct playback *playback); /* NULL is fine */
CLEAN_DEFINE(playback_destroy, struct playback *);

/* Plays, from the start, events from from_ns to before end_ns; MODEL_NEVER: no end. */
void playback_between(struct playback *playback, uint64_t from_ns, uint64_t end_ns);

/* For playback_next. */
void playback_fill(struct playback *playback, struct playback_lane *lane);

/* Compares two events, at least one of which exists: the free comes first. */
static inline bool playback_free_is_next(const struct playback_lane *allocations,
					 const struct playback_lane *frees, uint64_t allocation_ns,
					 uint64_t free_ns)
{
	return free_ns < allocation_ns ||
	       (free_ns == allocation_ns &&
		frees->rows[frees->at] < allocations->rows[allocations->at]);
}

/* The next event, at playback_at() of the returned lane. NULL: none before end_ns. */
static inline struct playback_lane *playback_next(struct playback *playback, uint64_t end_ns)
{
	struct playback_lane *in = &playback->allocations, *out = &playback->frees, *lane;
	uint64_t in_ns, out_ns;

	if (unlikely(in->at == in->count))
		playback_fill(playback, in);
	if (unlikely(out->at == out->count))
		playback_fill(playback, out);
	in_ns = in->at < in->count ? in->ns[in->at] : MODEL_NEVER;
	out_ns = out->at < out->count ? out->ns[out->at] : MODEL_NEVER;
	if (u64_min(in_ns, out_ns) >= end_ns)
		return NULL;
	lane = playback_free_is_next(in, out, in_ns, out_ns) ? out : in;
	lane->at++;
	return lane;
}

static inline size_t playback_at(const struct playback_lane *lane)
{
	return lane->at - 1;
}

#endif
