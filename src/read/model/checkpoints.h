/*
 * checkpoints: the state of every stack, saved from time to time during replay, so that the state
 * at any moment is a short way from a checkpoint. Internal to model.
 */
#ifndef MEMTAPE_MODEL_CHECKPOINTS_H
#define MEMTAPE_MODEL_CHECKPOINTS_H

#include "model/image.h"
#include "model/replay.h"

struct checkpoint {
	uint64_t row_count;   /* allocations so far */
	uint64_t freed_count; /* blocks ended so far */
	uint64_t stack_count;
	uint64_t offset; /* of stack_count struct model_stack_moment in the file */
};

VEC_DEFINE(checkpoint_vec, struct checkpoint);

struct checkpoints {
	struct checkpoint_vec points;
	uint64_t next;	  /* number of events at which the next one is due */
	uint64_t spacing; /* in events */
	uint64_t bytes_left;
	struct model_stack_moment *moments; /* scratch */
	size_t moment_room;
};

/* For a tape of about this many events. */
void checkpoints_init(struct checkpoints *checkpoints, uint64_t event_count);
void checkpoints_deinit(struct checkpoints *checkpoints);

struct err *checkpoints_take(struct checkpoints *checkpoints, const struct replay *replay,
			     size_t stack_count, struct image *image);

/* Between two events of the tape. */
static inline bool checkpoints_is_due(const struct checkpoints *checkpoints,
				      const struct replay *replay)
{
	return replay->now.allocated_count * 2 - replay->now.live_count >= checkpoints->next;
}

#endif
