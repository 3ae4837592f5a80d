/*
 * copying: blocks that grow by a factor without realloc, as std::vector, std::string and hash
 * tables do: a larger block is allocated, the contents are copied, the smaller one is freed.
 *
 * A *step* is an allocation of 1.4 to 2.1 times the size of another block of its function and
 * thread, which is the next of them to be freed, by that thread, before the function allocates
 * there again. Three steps in a row are a *chain*. Functions whose blocks have random sizes, or
 * come and go in turn, have few of them by chance: their chains copy a small share of their bytes,
 * where growth by 1.5 or 2 copies half of them.
 */
#include <assert.h>

#include "findings/finding.h"

enum {
	STEPS_MIN = 3,	     /* less may be chance */
	COPIED_PERCENT = 25, /* of the function's bytes */
	LANES_MAX = 64,	     /* threads apart from each other */
	LIVE_MAX = 1 << 20   /* blocks held at a time, of 32 bytes each */
};

/* A block that its own thread is going to free. */
struct grown {
	uint64_t free_ns;
	uint64_t size;
	uint64_t copied; /* bytes in the steps up to it */
	uint32_t steps;
	uint32_t thread;
};

VEC_DEFINE(grown_vec, struct grown);

/* A function's blocks of one thread (of several, if there are many threads). */
struct lane {
	struct grown_vec heap; /* the next one freed is first */
	struct grown newest;   /* not in the heap yet: its step may prove to be none */
	uint64_t from_free_ns; /* of the block that newest continues */
	uint64_t from_size;    /* 0: it continues none */
	uint32_t stack;	       /* of newest */
	bool has_newest;
};

struct copied {
	uint64_t bytes;
	uint64_t steps;
	uint64_t chains;
	uint64_t largest;     /* size of the largest block at a chain's end */
	uint64_t most_copied; /* bytes, in one chain so far */
	uint32_t stack;	      /* of that chain */
};

struct copying_search {
	const struct finding_search *search;
	struct copied *copied; /* by candidate */
	struct lane *lanes;    /* by candidate, then thread */
	size_t candidate_count;
	size_t lane_count;
	size_t live_count; /* in all heaps */
};

static void growth_deinit(struct copying_search *growth)
{
	for (size_t i = 0; i < growth->candidate_count * growth->lane_count; i++)
		grown_vec_deinit(&growth->lanes[i].heap);
}

CLEAN_DEFINE_DEINIT(growth_deinit, struct copying_search);

/* --- blocks by the time they are freed ------------------------------------------------------- */

static void heap_swap(struct grown *items, size_t a, size_t b)
{
	const struct grown kept = items[a];

	items[a] = items[b];
	items[b] = kept;
}

static bool heap_push(struct copying_search *growth, struct lane *lane, struct grown block)
{
	struct grown *items;

	if (growth->live_count >= LIVE_MAX)
		return true; /* one chain less */
	if (!grown_vec_push(&lane->heap, block))
		return false;
	growth->live_count++;
	items = lane->heap.items;
	for (size_t at = lane->heap.count - 1; at > 0; at = (at - 1) / 2) {
		if (items[(at - 1) / 2].free_ns <= items[at].free_ns)
			break;
		heap_swap(items, at, (at - 1) / 2);
	}
	return true;
}

static void heap_pop(struct copying_search *growth, struct lane *lane)
{
	struct grown *items = lane->heap.items;
	const size_t count = --lane->heap.count;

	growth->live_count--;
	items[0] = items[count];
	for (size_t at = 0; 2 * at + 1 < count;) {
		size_t child = 2 * at + 1;

		if (child + 1 < count && items[child + 1].free_ns < items[child].free_ns)
			child++;
		if (items[at].free_ns <= items[child].free_ns)
			return;
		heap_swap(items, at, child);
		at = child;
	}
}

/* --- steps ------------------------------------------------------------------------------------ */

/* 1.4 to 2.1 times; the sizes are of the tape, so no product of them may overflow. */
static bool is_factor(uint64_t from, uint64_t to)
{
	const double factor = (double)to / (double)u64_max(from, 1);

	return from > 0 && factor >= 1.4 && factor <= 2.1;
}

static void count_step(struct copied *copied, const struct lane *lane)
{
	const struct grown *block = &lane->newest;

	if (block->steps < STEPS_MIN)
		return;
	if (block->steps == STEPS_MIN) {
		copied->chains++;
		copied->steps += STEPS_MIN;
		copied->bytes += block->copied;
	} else {
		copied->steps++;
		copied->bytes += lane->from_size;
	}
	copied->largest = u64_max(copied->largest, block->size);
	if (block->copied > copied->most_copied) {
		copied->most_copied = block->copied;
		copied->stack = lane->stack;
	}
}

/* The lane's newest block is known to be a step or none once the next one is allocated, at ns. */
static bool newest_end(struct copying_search *growth, struct copied *copied, struct lane *lane,
		       uint64_t ns)
{
	struct grown *block = &lane->newest;

	if (!lane->has_newest)
		return true;
	lane->has_newest = false;
	if (lane->from_size > 0 && lane->from_free_ns <= ns) {
		count_step(copied, lane);
	} else {
		block->steps = 0;
		block->copied = 0;
	}
	return block->free_ns == MODEL_NEVER || block->free_ns < ns ||
	       heap_push(growth, lane, *block);
}

static bool take_row(void *context, uint32_t index, const uint64_t values[][MODEL_BATCH], size_t i)
{
	struct copying_search *growth = context;
	const uint64_t ns = values[MODEL_ALLOC_NS][i], thread = values[MODEL_THREAD][i];
	struct lane *lane =
		&growth->lanes[index * growth->lane_count + thread % growth->lane_count];
	const struct grown *from;
	struct grown block = {
		.free_ns = values[MODEL_FREE_NS][i],
		.size = values[MODEL_SIZE][i],
		.thread = (uint32_t)thread,
	};

	if (!newest_end(growth, &growth->copied[index], lane, ns))
		return false;
	while (lane->heap.count > 0 && lane->heap.items[0].free_ns < ns)
		heap_pop(growth, lane);
	/* Freed before its thread allocates again, or by another thread: nothing was copied. */
	if ((values[MODEL_FLAGS][i] & (MODEL_ALLOCATION_TEMPORARY | MODEL_ALLOCATION_REALLOCED)) ||
	    values[MODEL_FREE_THREAD][i] != thread)
		block.free_ns = MODEL_NEVER;
	from = lane->heap.count > 0 ? &lane->heap.items[0] : NULL;
	lane->from_size = 0;
	if (from && from->thread == block.thread && is_factor(from->size, block.size) &&
	    values[MODEL_REALLOC_OF][i] == MODEL_NO_ROW) {
		lane->from_size = from->size;
		lane->from_free_ns = from->free_ns;
		block.steps = from->steps + 1;
		block.copied = from->copied + from->size;
	}
	lane->stack = (uint32_t)values[MODEL_STACK][i];
	lane->newest = block;
	lane->has_newest = true;
	return true;
}

/* --- all rows --------------------------------------------------------------------------------- */

static struct err *follow_rows(struct copying_search *growth, const uint32_t *index_of)
{
	struct err *err = site_rows_each(
		growth->search, index_of,
		1u << MODEL_SIZE | 1u << MODEL_ALLOC_NS | 1u << MODEL_FREE_NS | 1u << MODEL_THREAD |
			1u << MODEL_FREE_THREAD | 1u << MODEL_FLAGS | 1u << MODEL_REALLOC_OF,
		take_row, growth);

	for (size_t i = 0; !err && i < growth->candidate_count * growth->lane_count; i++)
		if (!newest_end(growth, &growth->copied[i / growth->lane_count], &growth->lanes[i],
				MODEL_NEVER - 1))
			err = err_nomem();
	return err;
}

/* --- what is told ------------------------------------------------------------------------------ */

static bool is_worth(const struct finding_search *search, uint64_t bytes, uint64_t steps)
{
	const struct model_sum *all = &search->totals->allocated;

	return (bytes >= FINDING_LARGE_MIN && bytes >= all->bytes / FINDING_PEAK_SHARE) ||
	       finding_calls_are_worth(steps, all->count);
}

static bool is_enough(const struct finding_search *search, const struct site *site, uint64_t bytes,
		      uint64_t steps)
{
	return is_worth(search, bytes, steps) &&
	       finding_is_share(bytes, site->sums.allocated.bytes, COPIED_PERCENT);
}

/* Only blocks that are freed, and not before their thread allocates again, are copied; each once. */
static bool is_candidate(const struct finding_search *search, uint32_t at)
{
	const struct site *site = &search->sites.items[at];
	const struct model_stack_sums *sums = &site->sums;

	return is_enough(search, site,
			 sums->allocated.bytes - sums->temporary.bytes - sums->leaked.bytes,
			 sums->allocated.count - sums->temporary.count - sums->leaked.count);
}

static struct err *choose(struct copying_search *growth, const uint32_t **index_ret)
{
	const struct finding_search *search = growth->search;
	const size_t threads = u64_max(model_thread_count(search->model), 1);

	*index_ret = sites_choose(search, is_candidate, &growth->candidate_count);
	growth->lane_count = u64_min(threads, (uint64_t)LANES_MAX);
	growth->copied =
		arena_array(search->arena, growth->candidate_count, sizeof(*growth->copied));
	growth->lanes = arena_array(search->arena, growth->candidate_count * growth->lane_count,
				    sizeof(*growth->lanes));
	if (*index_ret && growth->copied && growth->lanes)
		return NULL;
	growth->candidate_count = 0;
	return err_nomem();
}

static struct err *growth_add(struct finding_search *search, const struct finder *finder,
			      const struct site *site, const struct copied *copied)
{
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = copied->bytes,
		.count = copied->steps,
		.stack = copied->stack,
		.link = { .page = "sites",
			  .report = "groups",
			  .filter = finding_site_filter(search, site, NULL),
			  .metric = "allocated",
			  .sort = "size" },
	};

	if (!finding.link.filter)
		return err_nomem();
	str_add_iec(&evidence, copied->bytes);
	str_add(&evidence, " copied (an estimate: the sizes of the smaller blocks), ");
	str_add_percent(&evidence, copied->bytes, site->sums.allocated.bytes);
	str_add(&evidence, " of the ");
	str_add_iec(&evidence, site->sums.allocated.bytes);
	str_add(&evidence, " it allocated, in ");
	finding_add_counted(&evidence, copied->steps, "step");
	str_add(&evidence, " of ");
	finding_add_counted(&evidence, copied->chains, "block");
	str_add(&evidence, "; the largest grew to ");
	str_add_iec(&evidence, copied->largest);
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	CLEAN(growth_deinit) struct copying_search growth = { .search = search };
	const uint32_t *index_of;
	struct err *err = choose(&growth, &index_of);

	if (!err && growth.candidate_count > 0)
		err = follow_rows(&growth, index_of);
	for (size_t i = 0; !err && i < search->sites.count; i++) {
		const struct site *site = &search->sites.items[i];
		const struct copied *copied;

		if (index_of[i] == UINT32_MAX)
			continue;
		copied = &growth.copied[index_of[i]];
		if (is_enough(search, site, copied->bytes, copied->steps))
			err = growth_add(search, finder, site, copied);
	}
	return err;
}

const struct finder finder_copying = {
	.type = "copying",
	.title = "Containers grow step by step and are copied each time",
	.advice = "Reserve the size where it is known, for example with reserve(), or keep the "
		  "container and use it again.",
	.what = "containers that are copied while they grow",
	.needs = FINDER_ROWS,
	.is_passing = true,
	.find = find,
};
