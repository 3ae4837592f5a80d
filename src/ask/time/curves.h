/*
 * curves: live bytes over time for groups of a selection's allocations: small pictures beside the
 * rows of a list, all in one pass over the rows (MODEL_FULL).
 */
#ifndef MEMTAPE_TIME_CURVES_H
#define MEMTAPE_TIME_CURVES_H

#include "groups/groups.h"

enum { CURVES_MAX = 4096, CURVE_POINTS_MAX = 1000 };

/*
 * Equal spans from from_ns to until_ns, which is later. values has room for groups->count *
 * point_count, group by group: live bytes at the end of each span, before events at that very time.
 * mode is that of the groups.
 */
struct err *curves_find(const struct selection *selection, const struct groups *groups,
			enum walk_mode mode, uint64_t from_ns, uint64_t until_ns,
			size_t point_count, struct arena *arena, uint64_t *values);

#endif
