#include "answer/ranking.h"

#include <assert.h>

static const struct member ranked_members[] = {
	MEMBER(struct ranked, place, FLAT, NULL, .shape = &shape_place),
	MEMBER(struct ranked, peak_bytes, BYTES, "alive at the peak"),
	MEMBER(struct ranked, peak_count, COUNT, "blocks alive at the peak"),
	MEMBER(struct ranked, leaked_bytes, BYTES, "never freed, and not suppressed"),
	MEMBER(struct ranked, leaked_count, COUNT, "blocks never freed, and not suppressed"),
	MEMBER(struct ranked, allocated_bytes, BYTES, NULL),
	MEMBER(struct ranked, allocated_count, COUNT, "allocations"),
	MEMBER(struct ranked, temporary_bytes, BYTES, "freed before their thread allocated again"),
	MEMBER(struct ranked, temporary_count, COUNT, "allocations of these"),
	MEMBER(struct ranked, stacks, COUNT, "number of different stacks"),
	MEMBER(struct ranked, stack, FRAMES, "the stack with most of the metric"),
};
const struct shape shape_ranked = SHAPE("RankedSite", struct ranked, ranked_members);

static const struct member ranking_members[] = {
	MEMBER(struct ranking, sort, TEXT, "the metric by which they are sorted"),
	MEMBER(struct ranking, sites, ROWS, "functions that allocate, by the metric",
	       .shape = &shape_ranked),
	MEMBER(struct ranking, about, FLAT, NULL, .shape = &shape_about),
};
const struct shape shape_ranking = SHAPE("Ranking", struct ranking, ranking_members);

static struct ranked ranked_of(const struct asked *asked, const struct site *site,
			       enum metric metric)
{
	const struct model_stack_sums *sums = &site->sums;
	const uint32_t stack = site->stacks[metric];

	return (struct ranked) {
		.place = place_of_stack(asked, stack),
		.peak_bytes = sums->peak.bytes,
		.peak_count = sums->peak.count,
		.leaked_bytes = sums->leaked.bytes,
		.leaked_count = sums->leaked.count,
		.allocated_bytes = sums->allocated.bytes,
		.allocated_count = sums->allocated.count,
		.temporary_bytes = sums->temporary.bytes,
		.temporary_count = sums->temporary.count,
		.stacks = site->stack_count,
		.stack = stack,
	};
}

struct err *ranking_ask(const struct asked *asked, void *result)
{
	struct ranking *ranking = result;
	const struct site *const *order;
	struct ranked *items;
	size_t count;
	struct err *err = sites_find(&asked->selection->sums, asked->names, asked->mode,
				     asked->arena, &ranking->found);

	assert(asked->selection->model == asked->model);
	ranking->metric = (enum metric)asked->sort;
	ranking->sort = metric_words[asked->sort];
	if (!err)
		err = sites_rank(&ranking->found, ranking->metric, asked->with->top, asked->arena,
				 &order, &count);
	if (err)
		return err;
	items = arena_array(asked->arena, count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		items[i] = ranked_of(asked, order[i], ranking->metric);
	ranking->sites = (struct shape_rows) { items, count };
	return about_find(asked, &ranking->about);
}
