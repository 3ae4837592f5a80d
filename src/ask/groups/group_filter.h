/*
 * group_filter: a filter expression that selects exactly a group's allocations: `site = "parse" and
 * site_module = "/usr/lib/libx.so"`, `size in 64..127`.
 */
#ifndef MEMTAPE_GROUPS_GROUP_FILTER_H
#define MEMTAPE_GROUPS_GROUP_FILTER_H

#include "groups/groups.h"

/*
 * Functions are identified by name where that is enough; the lookup tables are built once per list
 * of groups. Lives in the arena.
 */
struct group_filters;

struct err *group_filters_make(const struct selection *selection, const struct groups *groups,
			       struct arena *arena, const struct group_filters **filters_ret);

/*
 * The i-th group's expression; NULL: it cannot be written as a filter, because of its name,
 * or because WALK_ALL takes it for the allocator's. In the arena.
 */
const char *group_filter(const struct group_filters *filters, size_t i, struct arena *arena);

#endif
