/*
 * clock: ticks of a tape -> nanoseconds since recording began. Internal to model.
 *
 * The recorder notes from time to time what its counter and the system's clock say together;
 * between two notes time is a straight line, outside of them the line through the first and the
 * last goes on.
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
	struct clock_points points; /* sorted, strictly rising in both, once sealed */
	uint64_t start_ticks;
	uint64_t start_ns;
	double slope; /* ns per tick outside of the points */
	bool is_estimated;
};

void clock_init(struct clock *clock, const struct tape_header *header);
void clock_deinit(struct clock *clock);

/* A reading; raw_ticks are unshifted. False: out of memory. */
bool clock_add(struct clock *clock, const struct tape_header *header,
	       const struct tape_clock_pair *pair);

/* After the last reading; only then times can be asked for. False: out of memory. */
bool clock_seal(struct clock *clock, const struct tape_header *header);

/* Times before the beginning are 0. *hint, 0 at first, makes rising times cheap. */
uint64_t clock_ns_hinted(const struct clock *clock, uint64_t ticks, size_t *hint);
uint64_t clock_ns(const struct clock *clock, uint64_t ticks);

#endif
