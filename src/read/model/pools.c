#include "model/pools.h"

#include <assert.h>

#include "core/hash.h"

enum { COMPACT_MIN = 64 /* objects; fewer are not worth it */ };

void pools_init(struct pools *pools, struct replay *replay, struct arena *arena)
{
	*pools = (struct pools) { .replay = replay, .arena = arena };
}

void pools_deinit(struct pools *pools)
{
	for (size_t i = 0; i < pools->places.count; i++)
		pools_objects_deinit(&pools->places.items[i].objects);
	pools_places_deinit(&pools->places);
	pools_vec_deinit(&pools->all);
	vec_u32_deinit(&pools->spare);
	map_deinit(&pools->by_address);
	map_deinit(&pools->by_name);
}

static void sum_add(struct model_sum *sum, uint64_t bytes)
{
	sum->count++;
	sum->bytes += bytes;
}

static void sum_take(struct model_sum *sum, uint64_t bytes)
{
	sum->count--;
	sum->bytes -= bytes;
}

/* --- names and places ------------------------------------------------------------------------- */

/* Index in `all`; UINT32_MAX: out of memory. */
static uint32_t pool_named(struct pools *pools, const char *name, size_t len)
{
	uint64_t key = hash_bytes(name, len, 0);
	struct model_pool pool = { .name = "" };
	uint64_t *place;
	bool is_new;

	for (;; key++) { /* names of the same hash take the next number */
		const char *known;

		place = map_put(&pools->by_name, key, &is_new);
		if (!place)
			return UINT32_MAX;
		if (is_new)
			break;
		known = pools->all.items[*place].name;
		if (strncmp(known, name, len) == 0 && known[len] == 0)
			return (uint32_t)*place;
	}
	*place = pools->all.count;
	pool.name = arena_text(pools->arena, name, len);
	if (!pool.name || !pools_vec_push(&pools->all, pool))
		return UINT32_MAX;
	return (uint32_t)*place;
}

/* A new pool at this address. */
static struct err *place_make(struct pools *pools, uint64_t address, const char *name, size_t len,
			      size_t *place_ret)
{
	const uint32_t pool = pool_named(pools, name, len);
	uint64_t *at = map_put(&pools->by_address, address, NULL);
	struct pools_place *place;

	if (!at || pool == UINT32_MAX)
		return err_nomem();
	if (pools->spare.count > 0)
		*at = pools->spare.items[--pools->spare.count];
	else if (pools_places_push(&pools->places, (struct pools_place) { 0 }))
		*at = pools->places.count - 1;
	else
		return err_nomem();
	place = &pools->places.items[*at];
	place->pool = pool;
	place->live_count = place->objects.count = 0;
	*place_ret = *at;
	return NULL;
}

/* The pool at this address, which may be one of before the recording. */
static struct err *place_find(struct pools *pools, uint64_t address, size_t *place_ret)
{
	static const char unknown[] = "(unknown)";
	const uint64_t *at = map_find(&pools->by_address, address);

	if (!at)
		return place_make(pools, address, unknown, sizeof(unknown) - 1, place_ret);
	*place_ret = *at;
	return NULL;
}

/*
 * Where the replay has an object's address. Places are numbered on, up to a limit, beyond which two
 * pools share a space: then an address that is in both at a time is taken for the same.
 */
static uint64_t key_of(size_t place, uint64_t address)
{
	const uint64_t spaces = (UINT64_C(1) << (64 - POOLS_ADDRESS_BITS)) - 1;

	return (address & POOLS_ADDRESS_MASK) | (place % spaces + 1) << POOLS_ADDRESS_BITS;
}

/* --- objects ---------------------------------------------------------------------------------- */

static struct err *play(struct pools *pools, const struct capture_event *event, enum tape_fn fn,
			uint64_t key, uint64_t bytes)
{
	const struct capture_event made = {
		.ticks = event->ticks,
		.address = key,
		.size = bytes,
		.usable = bytes,
		.stack = event->stack,
		.fn = fn,
		.stream = event->stream,
	};
	size_t count;

	pools->event_count++;
	return replay_events(pools->replay, &made, 1, &count);
}

static bool is_in(const struct pools *pools, const struct pools_object *object)
{
	const struct block *block = blocks_find(&pools->replay->blocks, object->key);

	return block_is_live(block) && block->serial == object->serial;
}

/* Objects that are gone leave their entries until these are the most. */
static void compact(const struct pools *pools, struct pools_objects *objects)
{
	size_t kept = 0;

	for (size_t i = 0; i < objects->count; i++)
		if (is_in(pools, &objects->items[i]))
			objects->items[kept++] = objects->items[i];
	objects->count = kept;
}

/* An object has ended, or is about to. sum: how, as an offset in struct model_pool. */
static void tell_end(struct pools *pools, struct pools_place *place, uint64_t bytes, size_t sum)
{
	struct model_pool *pool = &pools->all.items[place->pool];

	sum_take(&pool->live, bytes);
	sum_add((struct model_sum *)(void *)((char *)pool + sum), bytes);
	place->live_count--;
}

/* Whether it has is the replay's to say: it knows of events whose times are not in order. */
static struct err *object_end(struct pools *pools, size_t at, const struct capture_event *event,
			      enum tape_fn fn, uint64_t key, size_t sum)
{
	struct pools_place *place = &pools->places.items[at];
	const struct block block = *blocks_find(&pools->replay->blocks, key);
	const struct pools_object object = { key, block.serial };
	const uint64_t unknown = pools->replay->totals.unknown_free_count;
	const bool was_in = block_is_live(&block);
	struct err *err = play(pools, event, fn, key, 0);

	if (!err && was_in && !is_in(pools, &object))
		tell_end(pools, place, block.size, sum);
	pools->all.items[place->pool].unknown_free_count +=
		pools->replay->totals.unknown_free_count - unknown;
	return err;
}

/* What was at an address before something was played. */
struct was {
	struct pools_object object;
	uint64_t bytes;
	bool is_live;
};

static struct was object_at(const struct pools *pools, uint64_t key)
{
	const struct block *block = blocks_find(&pools->replay->blocks, key);

	return (struct was) { { key, block->serial }, block->size, block_is_live(block) };
}

/* It may have been ended by what was played since then. */
static void object_check(struct pools *pools, size_t at, const struct was *was)
{
	if (was->is_live && !is_in(pools, &was->object))
		tell_end(pools, &pools->places.items[at], was->bytes,
			 offsetof(struct model_pool, freed));
}

/* It exists now, unless its free, by another thread, has a time before it. */
static struct err *object_told(struct pools *pools, size_t at, const struct capture_event *event,
			       const struct pools_object *object, uint64_t bytes)
{
	struct pools_place *place = &pools->places.items[at];
	struct model_pool *pool = &pools->all.items[place->pool];

	sum_add(&pool->allocated, bytes);
	if (!is_in(pools, object)) {
		sum_add(&pool->freed, bytes);
		return NULL;
	}
	sum_add(&pool->live, bytes);
	place->live_count++;
	if (pool->live.bytes > pool->peak.bytes) {
		pool->peak = pool->live;
		pool->peak_ns = event->ticks;
	}
	return pools_objects_push(&place->objects, *object) ? NULL : err_nomem();
}

/* old: the object that it continues; its own address may be that of one whose free was not seen. */
static struct err *object_begin(struct pools *pools, size_t at, const struct capture_event *event,
				const struct tape_pool *record, const struct was *old)
{
	struct pools_place *place = &pools->places.items[at];
	const uint64_t key = key_of(at, record->address);
	const struct pools_object object = { .key = key,
					     .serial =
						     (uint32_t)pools->replay->now.allocated_count };
	const struct was there = object_at(pools, key);
	const uint64_t allocated = pools->replay->now.allocated_count;
	struct err *err;

	if (place->objects.count >= COMPACT_MIN && place->objects.count > 2 * place->live_count)
		compact(pools, &place->objects);
	pools->replay->pool = place->pool;
	err = play(pools, event, old ? TAPE_FN_POOL_REALLOC_IN : TAPE_FN_POOL_ALLOC, key,
		   record->bytes);
	if (err)
		return err;
	object_check(pools, at, &there);
	if (old && old->object.key != key)
		object_check(pools, at, old);
	if (pools->replay->now.allocated_count == allocated) /* old is from a pause */
		return NULL;
	return object_told(pools, at, event, &object, record->bytes);
}

/* Two halves, as of a realloc of the heap: the old object ends with the second. */
static struct err *on_realloc(struct pools *pools, size_t at, const struct capture_event *event,
			      const struct tape_pool *record)
{
	const uint64_t key = key_of(at, record->old_address);
	const uint64_t unknown = pools->replay->totals.unknown_free_count;
	const struct was old = object_at(pools, key);
	struct err *err = play(pools, event, TAPE_FN_POOL_REALLOC_OUT, key, 0);

	if (!err)
		err = object_begin(pools, at, event, record, &old);
	pools->all.items[pools->places.items[at].pool].unknown_free_count +=
		pools->replay->totals.unknown_free_count - unknown;
	return err;
}

/* All objects in it are freed. */
static struct err *empty(struct pools *pools, size_t at, const struct capture_event *event,
			 enum tape_fn fn)
{
	struct pools_place *place = &pools->places.items[at];
	struct err *err = NULL;

	for (size_t i = 0; i < place->objects.count && !err; i++) {
		const struct pools_object object = place->objects.items[i];

		if (!is_in(pools, &object))
			continue;
		err = object_end(pools, at, event, fn, object.key,
				 offsetof(struct model_pool, emptied));
	}
	place->objects.count = 0;
	return err;
}

/* --- records ---------------------------------------------------------------------------------- */

static struct err *on_destroy(struct pools *pools, size_t at, const struct capture_event *event,
			      uint64_t address)
{
	struct pools_place *place = &pools->places.items[at];
	struct err *err = empty(pools, at, event, TAPE_FN_POOL_DESTROY);

	pools->all.items[place->pool].destroyed_count++;
	map_remove(&pools->by_address, address, NULL);
	return err || vec_u32_push(&pools->spare, (uint32_t)at) ? err : err_nomem();
}

/* One that lives at this address still has evidently been destroyed unseen. */
static struct err *on_create(struct pools *pools, const struct capture_event *event,
			     uint64_t address, const char *name, size_t len)
{
	static const char unnamed[] = "(unnamed)";
	const uint64_t *old = map_find(&pools->by_address, address);
	struct err *err = old ? on_destroy(pools, *old, event, address) : NULL;
	size_t at;

	if (!err)
		err = len > 0 ? place_make(pools, address, name, strnlen(name, len), &at)
			      : place_make(pools, address, unnamed, sizeof(unnamed) - 1, &at);
	if (!err)
		pools->all.items[pools->places.items[at].pool].created_count++;
	return err;
}

/* A record of a pool that has been created. */
static struct err *on_record(struct pools *pools, size_t at, const struct capture_event *event,
			     const struct tape_pool *record)
{
	switch ((enum tape_pool_what)record->what) {
	case TAPE_POOL_DESTROY:
		return on_destroy(pools, at, event, record->pool);
	case TAPE_POOL_CLEAR:
		pools->all.items[pools->places.items[at].pool].cleared_count++;
		return empty(pools, at, event, TAPE_FN_POOL_CLEAR);
	case TAPE_POOL_ALLOC:
		return object_begin(pools, at, event, record, NULL);
	case TAPE_POOL_FREE:
		return object_end(pools, at, event, TAPE_FN_POOL_FREE, key_of(at, record->address),
				  offsetof(struct model_pool, freed));
	case TAPE_POOL_REALLOC:
		return on_realloc(pools, at, event, record);
	case TAPE_POOL_CREATE:
		break;
	}
	return NULL;
}

struct err *pools_take(struct pools *pools, const struct capture_event *event,
		       const struct tape_extended_record *record)
{
	const char *payload = (const char *)record->payload;
	const size_t head = offsetof(struct tape_pool, address);
	struct tape_pool pool = { 0 };
	struct err *err;
	size_t bytes, at;

	assert(payload || record->payload_bytes == 0);
	if (record->payload_bytes < head)
		return NULL;
	memcpy(&pool, payload, head);
	bytes = tape_pool_bytes(pool.what);
	if (bytes < head || record->payload_bytes < bytes)
		return NULL;
	memcpy(&pool, payload, bytes);
	if (pool.what == TAPE_POOL_CREATE)
		return on_create(pools, event, pool.pool, payload + bytes,
				 record->payload_bytes - bytes);
	if (bytes > head && pool.address == 0)
		return NULL;
	err = place_find(pools, pool.pool, &at);
	return err ? err : on_record(pools, at, event, &pool);
}

struct model_pool *pools_copy(const struct pools *pools, const struct clock *clock)
{
	struct model_pool *copy = calloc(pools->all.count + 1, sizeof(*copy));

	for (size_t i = 0; copy && i < pools->all.count; i++) {
		copy[i] = pools->all.items[i];
		copy[i].peak_ns = clock_ns(clock, copy[i].peak_ns);
	}
	return copy;
}
