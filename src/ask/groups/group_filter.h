/*
 * group_filter: a group as an expression of the filter language that lets through just its
 * allocations: `site = "parse" and site_module = "/usr/lib/libx.so"`, `size in 64..127`.
 */
#ifndef MEMTAPE_GROUPS_GROUP_FILTER_H
#define MEMTAPE_GROUPS_GROUP_FILTER_H

#include "groups/groups.h"

/*
 * Functions are distinguished by name where that is enough; what is needed for it is found once
 * for a list of groups. Groups are those of WALK_FOLD. Lives in the arena.
 */
struct group_filters;

struct err *group_filters_make(const struct selection *selection, const struct groups *groups,
			       struct arena *arena, const struct group_filters **filters_ret);

/* The i-th group's expression; NULL: there is none, its name cannot be written. In the arena. */
const char *group_filter(const struct group_filters *filters, size_t i, struct arena *arena);

#endif
