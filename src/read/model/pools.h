/*
 * pools: the program's own pools while a tape is replayed for a model of their objects
 * (MODEL_OF_POOLS). Internal to model.
 *
 * Each object is an event of the replay: a block in an address space of its pool's own. Emptying or
 * destroying a pool is a free of each object that is in it.
 */
#ifndef MEMTAPE_MODEL_POOLS_H
#define MEMTAPE_MODEL_POOLS_H

#include "base/arena.h"
#include "base/map.h"
#include "model/clock.h"
#include "model/pool.h"
#include "model/replay.h"
#include "tape/tape_allocator.h"

/* Addresses of programs are lower; the bits above say whose address space it is. */
enum { POOLS_ADDRESS_BITS = 48 };
static const uint64_t POOLS_ADDRESS_MASK = (UINT64_C(1) << POOLS_ADDRESS_BITS) - 1;

/* An object that may be in a pool: it is, if its block lives and has this serial. */
struct pools_object {
	uint64_t key; /* its address in the replay */
	uint32_t serial;
};

VEC_DEFINE(pools_objects, struct pools_object);

/* One pool, from its creation to its end; the place is used again after that. */
struct pools_place {
	struct pools_objects objects; /* in the order in which they were allocated */
	uint64_t live_count;
	uint32_t pool; /* index in `all` */
};

VEC_DEFINE(pools_places, struct pools_place);
VEC_DEFINE(pools_vec, struct model_pool);

struct pools {
	struct replay *replay; /* borrowed, */
	struct arena *arena;   /* the same: names live in it */
	struct pools_vec all;  /* by name; peak_ns in ticks */
	struct pools_places places;
	struct map by_address; /* pool that lives -> place */
	struct map by_name;    /* hash -> index in `all` */
	struct vec_u32 spare;  /* places that no pool has */
	uint64_t event_count;
};

void pools_init(struct pools *pools, struct replay *replay, struct arena *arena);
void pools_deinit(struct pools *pools);

/* A POOL record; one that says nothing valid is skipped. */
struct err *pools_take(struct pools *pools, const struct capture_event *event,
		       const struct tape_extended_record *record);

/* Of all of them, allocated, with times in nanoseconds; NULL: out of memory. */
struct model_pool *pools_copy(const struct pools *pools, const struct clock *clock);

#endif
