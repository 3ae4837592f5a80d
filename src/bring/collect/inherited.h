/*
 * inherited: what lives in a recorded process, also of what it has of its parent: a child of fork()
 * has a tape of its own, which begins with the child.
 */
#ifndef MEMTAPE_COLLECT_INHERITED_H
#define MEMTAPE_COLLECT_INHERITED_H

#include "capture/capture.h"
#include "model/living.h"
#include "scan/maps.h"
#include "scan/memory.h"
#include "scan/stop.h"

/*
 * As living_read; of a forked child blocks of glibc's heap are added that are not on its tape: they
 * are the parent's, and may hold the child's. ERR_UNSUPPORTED: its malloc is another one.
 */
struct err *inherited_read(const struct capture *capture, uint64_t until_ticks,
			   const struct maps *maps, const struct memory *memory,
			   const struct stop *stop, struct living *living);

#endif
