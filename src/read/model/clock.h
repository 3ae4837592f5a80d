/*
 * clock: ticks of a tape -> nanoseconds since recording began. Internal to model.
 *
 * The recorder notes its counter and the system's clock together from time to time; time is linear
 * between two readings, and outside of them on the line through the first and the last. So times
 * before the last reading are known while a tape is still being played.
 */
#ifndef MEMTAPE_MODEL_CLOCK_H
#define MEMTAPE_MODEL_CLOCK_H

#include "base/vec.h"
#include "tape/tape.h"

struct clock_point {
	uint64_t ticks; /* shifted, as events have them */
	uint64_t ns;	/* monotonic */
};

VEC_DEFINE(clock_points, struct clock_point);

struct clock {
	struct clock_points points; /* strictly increasing in both; none: ticks are exact */
	uint64_t start_ticks;
	uint64_t start_ns;
	double slope; /* ns per tick outside of the points */
	bool is_estimated;
};

/* False: out of memory. */
bool clock_init(struct clock *clock, const struct tape_header *header);
void clock_deinit(struct clock *clock);
CLEAN_DEFINE_DEINIT(clock_deinit, struct clock);

/*
 * The next reading; raw_ticks are unshifted. A reading that does not increase - the second in one
 * tick, or of an invalid tape - is skipped. False: out of memory.
 */
bool clock_add(struct clock *clock, const struct tape_header *header,
	       const struct tape_clock_pair *pair);

/* After the last reading. */
void clock_seal(struct clock *clock, const struct tape_header *header);

/* Approximate number of ticks in this many ns, as known so far; at most `most`. */
uint64_t clock_ticks(const struct clock *clock, const struct tape_header *header, uint64_t ns,
		     uint64_t most);

/* Times before these ticks can be converted before the clock is sealed. */
uint64_t clock_horizon(const struct clock *clock);

/* Updates `copy`, a copy of an earlier state of clock. False: out of memory. */
bool clock_follow(struct clock *copy, const struct clock *clock);

/* A linear piece: `ticks_count` ticks from `begin_ticks` on. */
struct clock_piece {
	uint64_t begin_ticks;
	uint64_t ticks_count; /* 0: none yet */
	double begin_ns;
	double slope;
	uint64_t end_ns; /* nothing in it is later */
};

/* The piece for these ticks; there always is one. */
void clock_find(const struct clock *clock, uint64_t ticks, struct clock_piece *piece_ret);

static inline uint64_t clock_in_piece(const struct clock_piece *piece, uint64_t ticks)
{
	const double ns =
		piece->begin_ns + (double)(int64_t)(ticks - piece->begin_ticks) * piece->slope;

	if (unlikely(!(ns > 0)))
		return 0;
	return ns < (double)piece->end_ns ? (uint64_t)ns : piece->end_ns;
}

/* Cheap for ticks near the previous ones; *piece is initially all zeros. */
static inline uint64_t clock_ns_piece(const struct clock *clock, uint64_t ticks,
				      struct clock_piece *piece)
{
	if (unlikely(ticks - piece->begin_ticks >= piece->ticks_count))
		clock_find(clock, ticks, piece);
	return clock_in_piece(piece, ticks);
}

/* Times before the beginning are 0. */
uint64_t clock_ns(const struct clock *clock, uint64_t ticks);

#endif
