#include "groups/handovers.h"

#include <assert.h>

#include "base/map.h"
#include "base/sort.h"
#include "select/passes.h"

VEC_DEFINE(handover_vec, struct handover);

struct finder {
	struct handover_vec items;
	struct map by_pair;
	uint64_t last_pair; /* successive rows mostly have the same pair */
	size_t last;
	uint64_t thread[MODEL_BATCH];
	uint64_t freer[MODEL_BATCH];
	uint64_t size[MODEL_BATCH];
	uint64_t free_ns[MODEL_BATCH];
	uint64_t flags[MODEL_BATCH];
	uint64_t stack[MODEL_BATCH];
	const struct selection *selection;
};

static void finder_destroy(struct finder *finder)
{
	if (!finder)
		return;
	handover_vec_deinit(&finder->items);
	map_deinit(&finder->by_pair);
	free(finder);
}

CLEAN_DEFINE(finder_destroy, struct finder *);

static void sum_take(struct model_sum *sum, uint64_t bytes)
{
	sum->count++;
	sum->bytes += bytes;
}

static struct handover *pair_put(struct finder *finder, uint32_t allocator, uint32_t freer)
{
	const uint64_t pair = (uint64_t)allocator << 32 | freer;
	bool is_new;
	uint64_t *place;

	if (finder->items.count > 0 && pair == finder->last_pair)
		return &finder->items.items[finder->last];
	place = map_put(&finder->by_pair, pair, &is_new);
	if (!place)
		return NULL;
	if (is_new) {
		*place = finder->items.count;
		if (!handover_vec_push(&finder->items,
				       (struct handover) { allocator, freer, { 0 } }))
			return NULL;
	}
	finder->last_pair = pair;
	finder->last = *place;
	return &finder->items.items[*place];
}

static bool row_take(struct finder *finder, size_t i, struct model_stack_sums *threads)
{
	struct model_stack_sums *thread = &threads[finder->thread[i]];
	const uint64_t bytes = finder->size[i];
	struct handover *handover =
		pair_put(finder, (uint32_t)finder->thread[i], (uint32_t)finder->freer[i]);

	if (!handover)
		return false;
	sum_take(&handover->sum, bytes);
	sum_take(&thread->allocated, bytes);
	if (finder->flags[i] & MODEL_ALLOCATION_PEAK)
		sum_take(&thread->peak, bytes);
	if (finder->flags[i] & MODEL_ALLOCATION_TEMPORARY)
		sum_take(&thread->temporary, bytes);
	if (selection_is_leaked(finder->selection, finder->free_ns[i], finder->flags[i],
				finder->stack[i]))
		sum_take(&thread->leaked, bytes);
	return true;
}

/* Peak flags come from the selection if it has a range. */
static void flags_read(struct finder *finder, const struct pass *pass)
{
	uint64_t begin[MODEL_BATCH];

	pass_read(pass, MODEL_FLAGS, finder->flags);
	if (!pass->selection || !pass->selection->has_range)
		return;
	pass_read(pass, MODEL_ALLOC_NS, begin);
	for (size_t i = 0; i < pass->count; i++) {
		finder->flags[i] &= ~(uint64_t)MODEL_ALLOCATION_PEAK;
		if (selection_at_peak(pass->selection, begin[i], finder->free_ns[i], 0))
			finder->flags[i] |= MODEL_ALLOCATION_PEAK;
	}
}

static int handover_compare(const void *context, const void *a, const void *b)
{
	const struct handover *left = a, *right = b;
	int order = sort_compare_u64(right->sum.bytes, left->sum.bytes);

	(void)context;
	return order ? order : sort_compare_u64(right->sum.count, left->sum.count);
}

static struct err *frees_count(const struct model *model, struct arena *arena,
			       struct handovers *handovers)
{
	const size_t count = model_thread_count(model);

	handovers->free_counts = arena_array(arena, count, sizeof(*handovers->free_counts));
	handovers->foreign_free_counts =
		arena_array(arena, count, sizeof(*handovers->foreign_free_counts));
	if (!handovers->free_counts || !handovers->foreign_free_counts)
		return err_nomem();
	for (size_t i = 0; i < handovers->count; i++) {
		const struct handover *handover = &handovers->items[i];

		if (handover->freer == MODEL_NO_THREAD)
			continue;
		handovers->free_counts[handover->freer] += handover->sum.count;
		if (handover->freer != handover->allocator)
			handovers->foreign_free_counts[handover->freer] += handover->sum.count;
	}
	return NULL;
}

struct err *handovers_find(const struct model *model, const struct selection *selection,
			   struct arena *arena, struct handovers *handovers_ret)
{
	CLEAN(finder_destroy) struct finder *finder = calloc(1, sizeof(*finder));
	struct pass pass = pass_begin(model, selection);
	struct handovers handovers = { 0 };
	struct err *err;

	handovers.threads =
		arena_array(arena, model_thread_count(model), sizeof(*handovers.threads));
	if (!finder || !handovers.threads)
		return err_nomem();
	finder->selection = selection;
	while (pass_next(&pass)) {
		pass_read(&pass, MODEL_THREAD, finder->thread);
		pass_read(&pass, MODEL_FREE_THREAD, finder->freer);
		pass_read(&pass, MODEL_SIZE, finder->size);
		pass_read(&pass, MODEL_FREE_NS, finder->free_ns);
		pass_read(&pass, MODEL_STACK, finder->stack);
		flags_read(finder, &pass);
		for (size_t i = 0; i < pass.count; i++) {
			if (!row_take(finder, i, handovers.threads))
				return err_nomem();
		}
	}
	handovers.count = finder->items.count;
	handovers.items = arena_array(arena, handovers.count + 1, sizeof(*handovers.items));
	if (!handovers.items || !sort_stable(finder->items.items, handovers.count,
					     sizeof(*handovers.items), handover_compare, NULL))
		return err_nomem();
	if (handovers.count)
		memcpy(handovers.items, finder->items.items,
		       handovers.count * sizeof(*handovers.items));
	err = frees_count(model, arena, &handovers);
	if (err)
		return err;
	assert(handovers.items || handovers.count == 0);
	*handovers_ret = handovers;
	return NULL;
}
