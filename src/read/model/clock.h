/*
 * clock: ticks of a tape -> nanoseconds since recording began. Internal to model.
 *
 * The recorder notes from time to time what its counter and the system's clock say together;
 * between two notes time is a straight line, outside of them the line through the first and the
 * last goes on. So times before the last note are known while a tape is still being played.
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
	struct clock_points points; /* strictly rising in both; none: ticks are exact */
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
 * The next reading; raw_ticks are unshifted. One that does not rise - the second in one tick, or of
 * a tape that lies - is left out. False: out of memory.
 */
bool clock_add(struct clock *clock, const struct tape_header *header,
	       const struct tape_clock_pair *pair);

/* After the last reading. */
void clock_seal(struct clock *clock, const struct tape_header *header);

/* About how many ticks are so many ns, by what is known so far; at most `most`. */
uint64_t clock_ticks(const struct clock *clock, const struct tape_header *header, uint64_t ns,
		     uint64_t most);

/* Times before these ticks can be asked for before the clock is sealed. */
uint64_t clock_horizon(const struct clock *clock);

/* Brings `copy`, a copy of an earlier state of clock, up to date. False: out of memory. */
bool clock_follow(struct clock *copy, const struct clock *clock);

/* A straight part of the line: of `ticks_count` ticks from `begin_ticks` on. */
struct clock_piece {
	uint64_t begin_ticks;
	uint64_t ticks_count; /* 0: none yet */
	double begin_ns;
	double slope;
	uint64_t end_ns; /* nothing in it is later */
};

/* The piece for these ticks, which it is of in any case. */
void clock_find(const struct clock *clock, uint64_t ticks, struct clock_piece *piece_ret);

static inline uint64_t clock_in_piece(const struct clock_piece *piece, uint64_t ticks)
{
	const double ns =
		piece->begin_ns + (double)(int64_t)(ticks - piece->begin_ticks) * piece->slope;

	if (unlikely(!(ns > 0)))
		return 0;
	return ns < (double)piece->end_ns ? (uint64_t)ns : piece->end_ns;
}

/* Cheap for ticks near the ones before; *piece is all zeros at first. */
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
