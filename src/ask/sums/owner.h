/* owner: whether one module has nearly all that lived at the peak. */
#ifndef MEMTAPE_SUMS_OWNER_H
#define MEMTAPE_SUMS_OWNER_H

#include "sums/sums.h"
#include "sums/walk.h"

enum { OWNER_PERCENT = 90 };

/*
 * Whether the functions that allocated, by mode, at least OWNER_PERCENT of what of the sums lived at
 * the peak are of one module. False of nothing. Uses the arena.
 */
struct err *owner_is_one_module(const struct sums *sums, struct names *names, enum walk_mode mode,
				struct arena *arena, bool *is_one_ret);

#endif
