/*
 * spread: the distribution of values over orders of magnitude, in fixed memory.
 *
 * Each power of two is divided into equal parts, so values are known to one part in SPREAD_PARTS
 * (about 3 %), and exactly below that. As in HDR histograms (Gil Tene, hdrhistogram.org).
 */
#ifndef MEMTAPE_GROUPS_SPREAD_H
#define MEMTAPE_GROUPS_SPREAD_H

#include "model/model.h"

enum { SPREAD_PARTS = 32, SPREAD_SLOTS = SPREAD_PARTS * 60 };

struct spread {
	uint64_t count;
	uint64_t min; /* UINT64_MAX: no value yet */
	uint64_t max;
	uint64_t counts[SPREAD_SLOTS];
};

void spread_init(struct spread *spread);
void spread_add(struct spread *spread, uint64_t value);
void spread_join(struct spread *to, const struct spread *from);

/*
 * The value of a rank, 1 .. count in ascending order: the largest value of its slot, but never more
 * than max.
 */
uint64_t spread_at(const struct spread *spread, uint64_t rank);

/*
 * The percentile in thousandths, 0 .. 1000: the largest value of its slot, but never more than max.
 * 0 without values.
 */
uint64_t spread_percentile(const struct spread *spread, unsigned thousandths);

#endif
