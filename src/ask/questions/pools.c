/*
 * pools: the program's own pools, and what became of their objects.
 */
#include "answer/about.h"
#include "base/sort.h"
#include "questions/questions.h"

struct pool {
	const char *name;
	uint64_t created_count, destroyed_count, cleared_count;
	uint64_t allocated_count, allocated_bytes;
	uint64_t freed_count, freed_bytes;
	uint64_t emptied_count, emptied_bytes;
	uint64_t live_count, live_bytes;
	uint64_t peak_count, peak_bytes, peak_ns;
	uint64_t unknown_free_count;
};

struct pools {
	struct shape_rows pools;
	struct quality quality;
};

static const struct member pool_members[] = {
	MEMBER(struct pool, name, TEXT, "what the program calls it; pools of the same name are one",
	       .title = "pool", .left = true, .elastic = true),
	MEMBER(struct pool, created_count, COUNT, "how many of that name were created",
	       .title = "created"),
	MEMBER(struct pool, destroyed_count, COUNT, "and destroyed", .title = "destroyed"),
	MEMBER(struct pool, cleared_count, COUNT, "how often one was emptied", .is_data = true),
	MEMBER(struct pool, allocated_count, COUNT, "objects, reallocs among them",
	       .title = "objects"),
	MEMBER(struct pool, allocated_bytes, BYTES, "of these", .title = "bytes"),
	MEMBER(struct pool, freed_count, COUNT, "objects freed one by one, reallocs among them",
	       .title = "freed"),
	MEMBER(struct pool, freed_bytes, BYTES, "of these", .is_data = true),
	MEMBER(struct pool, emptied_count, COUNT,
	       "objects freed with their pool, when it was emptied or destroyed",
	       .title = "with the pool"),
	MEMBER(struct pool, emptied_bytes, BYTES, "of these", .is_data = true),
	MEMBER(struct pool, live_count, COUNT, "objects never freed", .title = "never freed"),
	MEMBER(struct pool, live_bytes, BYTES, "of these", .title = "alive"),
	MEMBER(struct pool, peak_bytes, BYTES, "alive at once at most", .title = "peak"),
	MEMBER(struct pool, peak_count, COUNT, "objects alive then", .is_data = true),
	MEMBER(struct pool, peak_ns, NS, "when", .title = "at"),
	MEMBER(struct pool, unknown_free_count, COUNT,
	       "frees of objects that were not seen allocated", .is_data = true),
};
static const struct shape shape_pool = SHAPE("Pool", struct pool, pool_members);

static const struct member pools_members[] = {
	MEMBER(struct pools, pools, ROWS, "the highest peak first", .shape = &shape_pool),
	MEMBER(struct pools, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_pools = SHAPE("Pools", struct pools, pools_members);

static int compare(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct pool *)b)->peak_bytes,
				((const struct pool *)a)->peak_bytes);
}

static struct err *ask(const struct asked *asked, void *result)
{
	const size_t count = model_pool_count(asked->model);
	struct pool *items = arena_array(asked->arena, count + 1, sizeof(*items));
	const uint64_t top = asked->with->top ? asked->with->top : UINT64_MAX;
	struct pools *pools = result;

	if (!items)
		return err_nomem();
	if (!model_is_of_pools(asked->model))
		return err_new(ERR_UNSUPPORTED, "pools cannot be shown here");
	for (size_t i = 0; i < count; i++) {
		const struct model_pool *pool = &model_pools(asked->model)[i];

		items[i] = (struct pool) {
			.name = pool->name,
			.created_count = pool->created_count,
			.destroyed_count = pool->destroyed_count,
			.cleared_count = pool->cleared_count,
			.allocated_count = pool->allocated.count,
			.allocated_bytes = pool->allocated.bytes,
			.freed_count = pool->freed.count,
			.freed_bytes = pool->freed.bytes,
			.emptied_count = pool->emptied.count,
			.emptied_bytes = pool->emptied.bytes,
			.live_count = pool->live.count,
			.live_bytes = pool->live.bytes,
			.peak_count = pool->peak.count,
			.peak_bytes = pool->peak.bytes,
			.peak_ns = pool->peak_ns,
			.unknown_free_count = pool->unknown_free_count,
		};
	}
	if (!sort_stable(items, count, sizeof(*items), compare, NULL))
		return err_nomem();
	pools->pools = (struct shape_rows) { items, u64_min(count, top) };
	return quality_find(asked, &pools->quality);
}

const struct question question_pools = {
	.name = "pools",
	.summary = "the program's own pools, and what became of their objects",
	.one_process = true,
	.shape = &shape_pools,
	.depth = MODEL_FULL,
	.subject = MODEL_OF_POOLS,
	.takes = TAKES(top),
	.instead = "groups --by pool is about a part of it",
	.ask = ask,
};
