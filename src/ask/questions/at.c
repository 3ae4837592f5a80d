#include "questions/between.h"

#include "answer/frame.h"
#include "questions/questions.h"
#include "select/sums_rows.h"

struct alive_site {
	struct place place;
	uint64_t live_bytes, live_count;
	uint64_t allocated_bytes, allocated_count;
	uint64_t stacks;
	uint32_t stack;
};

static const struct member site_members[] = {
	MEMBER(struct alive_site, place, FLAT, NULL, .shape = &shape_place),
	MEMBER(struct alive_site, live_bytes, BYTES, "alive then"),
	MEMBER(struct alive_site, live_count, COUNT, "blocks alive then"),
	MEMBER(struct alive_site, allocated_bytes, BYTES, "until then"),
	MEMBER(struct alive_site, allocated_count, COUNT, "allocations until then"),
	MEMBER(struct alive_site, stacks, COUNT, "number of different stacks"),
	MEMBER(struct alive_site, stack, FRAMES, "the stack with most bytes alive"),
};
static const struct shape shape_site = SHAPE("AliveSite", struct alive_site, site_members);

static const struct member at_members[] = {
	MEMBER(struct at_answer, at_ns, NS, "the moment"),
	MEMBER(struct at_answer, live_bytes, BYTES, "alive then"),
	MEMBER(struct at_answer, live_count, COUNT, "blocks alive then"),
	MEMBER(struct at_answer, sites, ROWS, "functions that allocated it, the most bytes first",
	       .shape = &shape_site),
	MEMBER(struct at_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_at = SHAPE("At", struct at_answer, at_members);

static struct alive_site site_row(const struct asked *asked, const struct site *site)
{
	const uint32_t stack = site->stacks[METRIC_PEAK];

	return (struct alive_site) {
		.place = place_of_stack(asked, stack),
		.live_bytes = site->sums.peak.bytes,
		.live_count = site->sums.peak.count,
		.allocated_bytes = site->sums.allocated.bytes,
		.allocated_count = site->sums.allocated.count,
		.stacks = site->stack_count,
		.stack = stack,
	};
}

/* sums_at returns the live blocks as `peak`. */
static struct err *sites_then(const struct asked *asked, struct at_answer *at, size_t *count_ret)
{
	struct sums sums;
	struct sites sites;
	struct err *err = sums_at(asked->model, asked->selection, at->at_ns, asked->arena, &sums);

	if (!err)
		err = sites_find(&sums, asked->names, asked->mode, asked->arena, &sites);
	if (!err)
		err = sites_rank(&sites, METRIC_PEAK, asked->with->top, asked->arena, &at->ranked,
				 count_ret);
	if (err)
		return err;
	at->live_bytes = sums.total.peak.bytes;
	at->live_count = sums.total.peak.count;
	return NULL;
}

static struct err *ask(const struct asked *asked, void *result)
{
	struct at_answer *at = result;
	struct alive_site *items;
	size_t count;
	struct err *err = asked_moment(asked, asked->with->moment, 0, &at->at_ns);

	if (!err)
		err = sites_then(asked, at, &count);
	if (err)
		return err;
	items = arena_array(asked->arena, count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		items[i] = site_row(asked, at->ranked[i]);
	at->sites = (struct shape_rows) { .items = items, .count = count };
	return quality_find(asked, &at->quality);
}

const struct question question_at = {
	.name = "at",
	.summary = "what was alive at the moment T",
	.shape = &shape_at,
	.depth = MODEL_FULL,
	.takes = TAKES(moment) | TAKES(top),
	.selects = true,
	.ignores_leaks = true,
	.ask = ask,
};
