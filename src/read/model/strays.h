/*
 * strays: frees of an address at which no block was alive, as they are met. Internal to model; what
 * became of them is model_stray_frees().
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
 * row_count: allocations so far; calls: of the thread, this one among them. One that is told late
 * takes its place in the order of time.
 */
void strays_add(struct strays *strays, const struct capture_event *event, uint32_t thread,
		uint64_t row_count, uint64_t calls);

/* Its block was met after all. */
void strays_drop(struct strays *strays, const struct capture_event *event, uint32_t thread);

/* Of an index: no number of a stack, a thread or a function that there is not. */
bool strays_are_sound(const struct model *model);

#endif
