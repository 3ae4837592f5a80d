/*
 * space_course: live blocks at many moments, by one pass over the rows in their order. A space
 * (space.h) also knows their pages, for which it must look up every block that is freed.
 */
#ifndef MEMTAPE_SPACE_SPACE_COURSE_H
#define MEMTAPE_SPACE_SPACE_COURSE_H

#include "space/space.h"

/*
 * What space_live() is after space_advance_blocks() to each of these times, which ascend. NULL on
 * success; live_ret has room for count.
 */
struct err *space_course(const struct model *model, const uint64_t *times, size_t count,
			 struct space_live *live_ret);

#endif
