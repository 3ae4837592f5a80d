#include "questions/reallocs.h"

#include <math.h>

#include "base/sort.h"
#include "questions/questions.h"
#include "sums/sites.h"

enum { CHAINS_USUAL = 100, FACTOR_DECIMALS = 4 };

static const struct member sums_members[] = {
	MEMBER_AS("blocks", struct realloc_sums, chains, COUNT, "that were reallocated"),
	MEMBER_AS("reallocs", struct realloc_sums, steps, COUNT, "calls"),
	MEMBER(struct realloc_sums, grown, COUNT, "calls that made a block larger"),
	MEMBER(struct realloc_sums, moved, COUNT, "calls that gave it another address"),
	MEMBER(struct realloc_sums, copied_bytes, BYTES, "at most, by those that moved it"),
	MEMBER(struct realloc_sums, longest, COUNT, "most calls for one block"),
	MEMBER_AS("final_bytes_max", struct realloc_sums, last_bytes_max, BYTES,
		  "the largest that a block was at last"),
	MEMBER_AS("constant_blocks", struct realloc_sums, constant_chains, COUNT,
		  "blocks that grew by constant steps and moved again and again"),
};
static const struct shape shape_sums = SHAPE("GrownSums", struct realloc_sums, sums_members);

static const struct member growth_members[] = {
	MEMBER_AS("growth_factor", struct growth, factor, RATIO, "a call, on average",
		  .nullable = true, .decimals = FACTOR_DECIMALS),
	MEMBER(struct growth, increment_bytes, BYTES,
	       "a call; null unless it is about the same each time", .nullable = true),
};
static const struct shape shape_growth = SHAPE("Growth", struct growth, growth_members);

static const struct member site_members[] = {
	MEMBER(struct grown_site, place, FLAT, NULL, .shape = &shape_place),
	MEMBER(struct grown_site, sums, FLAT, NULL, .shape = &shape_sums),
	MEMBER(struct grown_site, growth, FLAT, NULL, .shape = &shape_growth),
	MEMBER(struct grown_site, stack, FRAMES, "of the block that was copied most"),
};
static const struct shape shape_site = SHAPE("GrownSite", struct grown_site, site_members);

static const struct member block_members[] = {
	MEMBER_AS("first_allocation", struct grown_block, chain.first_row, PLAIN,
		  "id of the allocation that began it"),
	MEMBER_AS("last_allocation", struct grown_block, chain.last_row, PLAIN,
		  "id of what the last call made of it"),
	MEMBER_AS("reallocs", struct grown_block, chain.steps, COUNT, "calls"),
	MEMBER_AS("grown", struct grown_block, chain.grown, COUNT, "calls that made it larger"),
	MEMBER_AS("moved", struct grown_block, chain.moved, COUNT,
		  "calls that gave it another address"),
	MEMBER_AS("copied_bytes", struct grown_block, chain.copied_bytes, BYTES,
		  "at most, by those that moved it"),
	MEMBER_AS("first_bytes", struct grown_block, chain.first_bytes, BYTES,
		  "how large it was at first"),
	MEMBER_AS("final_bytes", struct grown_block, chain.last_bytes, BYTES,
		  "how large it was at last"),
	MEMBER_AS("max_bytes", struct grown_block, chain.max_bytes, BYTES, NULL),
	MEMBER(struct grown_block, growth, FLAT, NULL, .shape = &shape_growth),
	MEMBER_AS("stack", struct grown_block, chain.stack, FRAMES, "of the last call"),
};
static const struct shape shape_block = SHAPE("GrownBlock", struct grown_block, block_members);

static const struct member reallocs_members[] = {
	MEMBER(struct reallocs_answer, total, FLAT, NULL, .shape = &shape_sums),
	MEMBER(struct reallocs_answer, sort, TEXT, "what both lists are sorted by"),
	MEMBER(struct reallocs_answer, sites, ROWS, "functions that reallocate",
	       .shape = &shape_site),
	MEMBER(struct reallocs_answer, chains, ROWS, "single blocks", .shape = &shape_block),
	MEMBER(struct reallocs_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_reallocs =
	SHAPE("Reallocs", struct reallocs_answer, reallocs_members);

static struct growth growth_of(const struct realloc_chain *chain)
{
	const double factor = realloc_chain_factor(chain);

	return (struct growth) {
		.factor = factor > 0 ? factor : NAN,
		.increment_bytes =
			realloc_chain_is_constant(chain) ? chain->increment_min : SHAPE_NONE,
	};
}

static uint64_t sums_value(enum realloc_order order, const struct realloc_sums *sums)
{
	switch (order) {
	case REALLOC_BY_COPIED:
		return sums->copied_bytes;
	case REALLOC_BY_LENGTH:
		return sums->longest;
	case REALLOC_BY_SIZE:
		return sums->last_bytes_max;
	}
	return 0;
}

/* Sites that reallocate, sorted, and the sums of each. */
static struct err *sites_order(const struct asked *asked, const struct reallocs *reallocs,
			       const struct realloc_sums **by_site_ret,
			       const struct sort_pair **order_ret, size_t *count_ret)
{
	struct sites sites;
	struct realloc_sums *by_site;
	struct sort_pair *order;
	size_t count = 0;
	struct err *err = sites_find(&asked->selection->sums, asked->names, asked->mode,
				     asked->arena, &sites);

	if (err)
		return err;
	by_site = arena_array(asked->arena, sites.count, sizeof(*by_site));
	order = arena_array(asked->arena, sites.count, sizeof(*order));
	if (!by_site || !order)
		return err_nomem();
	for (size_t i = 0; i < model_stack_count(asked->model); i++) {
		if (sites.site_of[i] != UINT32_MAX)
			realloc_sums_add(&by_site[sites.site_of[i]], &reallocs->stacks[i]);
	}
	for (size_t i = 0; i < sites.count; i++) {
		const uint64_t value = sums_value((enum realloc_order)asked->sort, &by_site[i]);

		if (by_site[i].chains > 0)
			order[count++] = (struct sort_pair) { ~value, (uint32_t)i };
	}
	if (!sort_pairs(order, count))
		return err_nomem();
	*by_site_ret = by_site;
	*order_ret = order;
	*count_ret = asked->with->top ? u64_min(count, asked->with->top) : count;
	return NULL;
}

static struct err *sites_fill(const struct asked *asked, const struct reallocs *reallocs,
			      struct shape_rows *rows)
{
	const struct realloc_sums *by_site = NULL;
	const struct sort_pair *order = NULL;
	struct grown_site *items;
	size_t count = 0;
	struct err *err = sites_order(asked, reallocs, &by_site, &order, &count);

	if (err)
		return err;
	items = arena_array(asked->arena, count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const struct realloc_sums *sums = &by_site[order[i].index];

		items[i] = (struct grown_site) {
			.place = place_of_stack(asked, sums->heaviest.stack),
			.sums = *sums,
			.growth = growth_of(&sums->heaviest),
			.stack = sums->heaviest.stack,
		};
	}
	*rows = (struct shape_rows) { .items = items, .count = count };
	return NULL;
}

static struct err *chains_fill(const struct asked *asked, const struct reallocs *reallocs,
			       struct shape_rows *rows)
{
	struct grown_block *items =
		arena_array(asked->arena, reallocs->top_count + 1, sizeof(*items));

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < reallocs->top_count; i++)
		items[i] = (struct grown_block) { reallocs->top[i], growth_of(&reallocs->top[i]) };
	*rows = (struct shape_rows) { .items = items, .count = reallocs->top_count };
	return NULL;
}

static struct err *ask(const struct asked *asked, void *result)
{
	const size_t top = asked->with->top ? asked->with->top : CHAINS_USUAL;
	struct reallocs_answer *answer = result;
	struct reallocs reallocs;
	struct err *err;

	answer->order = (enum realloc_order)asked->sort;
	answer->sort = realloc_order_words[asked->sort];
	err = reallocs_find(asked->model, asked->selection, answer->order, top, asked->arena,
			    &reallocs);
	if (!err)
		err = sites_fill(asked, &reallocs, &answer->sites);
	if (!err)
		err = chains_fill(asked, &reallocs, &answer->chains);
	if (err)
		return err;
	answer->total = reallocs.total;
	return quality_find(asked, &answer->quality);
}

const struct question question_reallocs = {
	.name = "reallocs",
	.summary = "blocks that grew by realloc: how often, how far, what was copied",
	.shape = &shape_reallocs,
	.depth = MODEL_FULL,
	.takes = TAKES(top),
	.selects = true,
	.ignores_leaks = true,
	.sorts = realloc_order_words,
	.ask = ask,
};
