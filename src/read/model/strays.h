/*
 * strays: frees of addresses without a live block, as they occur. Internal to model; for results
 * see model_stray_frees().
 */
#ifndef MEMTAPE_MODEL_STRAYS_H
#define MEMTAPE_MODEL_STRAYS_H

#include "base/vec.h"
#include "capture/capture.h"
#include "model/model.h"

struct stray {
	struct model_stray_free free; /* its ns are ticks until the clock is sealed */
	uint64_t calls;		      /* of its thread by then */
};

VEC_DEFINE(stray_vec, struct stray);

struct strays {
	struct stray_vec all; /* at most MODEL_STRAY_FREES_MAX */
	bool failed;	      /* out of memory; sticky */
};

/*
 * row_count: allocations so far; calls: of the thread, including this one. A late one is inserted
 * in order of time.
 */
void strays_add(struct strays *strays, const struct capture_event *event, uint32_t thread,
		uint64_t row_count, uint64_t calls);

/* Its block was found after all. */
void strays_drop(struct strays *strays, const struct capture_event *event, uint32_t thread);

/* From an index: rejects numbers of stacks, threads or functions that do not exist. */
bool strays_are_sound(const struct model *model);

#endif
