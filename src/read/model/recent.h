/*
 * recent: what happened lately, by stack: the sums of a followed tape at moments of the last hour, the
 * closer together the later they are. Internal to model; for results see following.h.
 */
#ifndef MEMTAPE_MODEL_RECENT_H
#define MEMTAPE_MODEL_RECENT_H

#include "base/vec.h"
#include "model/clock.h"
#include "model/tallies.h"

/* Of a stack in a cell. */
struct recent_change {
	uint32_t stack;
	struct model_sum allocated, freed, temporary;
};

/* A span of time: from begin_ticks until the next one's. Changes are in order of stacks. */
struct recent_cell {
	uint64_t begin_ticks;
	struct recent_change *changes;
	size_t count;
};

VEC_DEFINE(recent_cells, struct recent_cell);

struct recent {
	struct recent_cells cells; /* in order of time */
	uint64_t end_ticks;	   /* of the last one */
	struct tally *before;	   /* by its index in tallies, at that time */
	size_t before_room;
	size_t bytes; /* of changes */
};

enum {
	RECENT_PART = 64 /* a cell is about so much shorter than it is old */
};

static const uint64_t RECENT_NS = UINT64_C(3800000000000); /* a little more than an hour */

void recent_init(struct recent *recent, uint64_t begin_ticks);
void recent_deinit(struct recent *recent);

/*
 * Now it is end_ticks: closes a cell. What is older than keep_ticks is dropped, and as much of the
 * oldest as there is beyond bytes_max. False: out of memory.
 */
bool recent_cut(struct recent *recent, const struct tallies *tallies, size_t stack_count,
		uint64_t end_ticks, uint64_t keep_ticks, size_t bytes_max);

size_t recent_bytes(const struct recent *recent);

#endif
