#include "questions/lifetimes.h"

#include "groups/lifetimes.h"
#include "questions/questions.h"

enum { SITES_MAX = 1000 /* each has its own spread, a few KiB */ };

static const struct member lived_members[] = {
	MEMBER(struct lived, freed_count, COUNT, "blocks"),
	MEMBER(struct lived, freed_bytes, BYTES, NULL),
	MEMBER(struct lived, never_freed_count, COUNT, "blocks"),
	MEMBER(struct lived, never_freed_bytes, BYTES, NULL),
	MEMBER(struct lived, freed_unseen_count, COUNT,
	       "blocks whose free was not seen: how long they lived is not known"),
	MEMBER(struct lived, freed_unseen_bytes, BYTES, NULL),
	MEMBER(struct lived, p50_ns, NS, "half of those freed lived at most so long",
	       .nullable = true),
	MEMBER(struct lived, p90_ns, NS, "90 %", .nullable = true),
	MEMBER(struct lived, p99_ns, NS, "99 %", .nullable = true),
	MEMBER(struct lived, p999_ns, NS, "99.9 %", .nullable = true),
	MEMBER(struct lived, max_ns, NS, "all", .nullable = true),
};
static const struct shape shape_lived = SHAPE("Lived", struct lived, lived_members);

static const struct member row_members[] = {
	MEMBER(struct lifetime_row, min_ns, NS, NULL, .nullable = true),
	MEMBER(struct lifetime_row, max_ns, NS, NULL, .nullable = true),
	MEMBER(struct lifetime_row, count, COUNT, "blocks that lived so long and were freed"),
	MEMBER(struct lifetime_row, bytes, BYTES, NULL),
};
static const struct shape shape_row = SHAPE("LifetimeRow", struct lifetime_row, row_members);

static const struct member site_members[] = {
	MEMBER(struct lifetime_site, place, FLAT, NULL, .shape = &shape_place),
	MEMBER(struct lifetime_site, lived, FLAT, NULL, .shape = &shape_lived),
};
static const struct shape shape_site = SHAPE("LifetimeSite", struct lifetime_site, site_members);

static const struct member lifetimes_members[] = {
	MEMBER(struct lifetimes_answer, lived, FLAT, NULL, .shape = &shape_lived),
	MEMBER(struct lifetimes_answer, lifetimes, ROWS, "by powers of ten, the shortest first",
	       .shape = &shape_row),
	MEMBER(struct lifetimes_answer, sites, ROWS, "of each function, with `sites`",
	       .shape = &shape_site, .optional = true, .is_table = true),
	MEMBER(struct lifetimes_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_lifetimes =
	SHAPE("Lifetimes", struct lifetimes_answer, lifetimes_members);

static uint64_t percentile(const struct lifetimes *lifetimes, unsigned thousandths)
{
	return lifetimes->freed.count == 0 ? SHAPE_NONE
					   : spread_percentile(&lifetimes->spread, thousandths);
}

static struct lived lived_of(const struct lifetimes *lifetimes)
{
	return (struct lived) {
		.freed_count = lifetimes->freed.count,
		.freed_bytes = lifetimes->freed.bytes,
		.never_freed_count = lifetimes->never.count,
		.never_freed_bytes = lifetimes->never.bytes,
		.freed_unseen_count = lifetimes->lost.count,
		.freed_unseen_bytes = lifetimes->lost.bytes,
		.p50_ns = percentile(lifetimes, 500),
		.p90_ns = percentile(lifetimes, 900),
		.p99_ns = percentile(lifetimes, 990),
		.p999_ns = percentile(lifetimes, 999),
		.max_ns = percentile(lifetimes, 1000),
	};
}

static struct err *rows_fill(const struct asked *asked, const struct lifetimes *lifetimes,
			     struct shape_rows *rows)
{
	struct lifetime_row *items =
		arena_array(asked->arena, LIFETIME_BUCKETS + 1, sizeof(*items));

	if (!items)
		return err_nomem();
	for (unsigned i = 0; i < LIFETIME_BUCKETS; i++)
		items[i] = (struct lifetime_row) {
			.min_ns = lifetimes_bucket_min(i),
			.max_ns = lifetimes_bucket_max(i),
			.count = lifetimes->buckets[i].count,
			.bytes = lifetimes->buckets[i].bytes,
		};
	items[LIFETIME_BUCKETS] = (struct lifetime_row) {
		.min_ns = SHAPE_NONE,
		.max_ns = SHAPE_NONE,
		.count = lifetimes->never.count,
		.bytes = lifetimes->never.bytes,
	};
	*rows = (struct shape_rows) { .items = items, .count = LIFETIME_BUCKETS, .more_count = 1 };
	return NULL;
}

/* --- by function -------------------------------------------------------------------------------- */

/* Indexed like ranked. */
static struct err *ranked_lifetimes(const struct asked *asked, const struct sites *sites,
				    const struct site *const *ranked, size_t count,
				    struct lifetimes **by_site_ret)
{
	uint32_t *index_of = arena_array(asked->arena, sites->count, sizeof(*index_of));

	if (!index_of)
		return err_nomem();
	for (size_t i = 0; i < sites->count; i++)
		index_of[i] = UINT32_MAX;
	for (size_t i = 0; i < count; i++)
		index_of[ranked[i] - sites->items] = (uint32_t)i;
	return lifetimes_by_site(sites, index_of, count, asked->selection, asked->arena,
				 by_site_ret);
}

static struct lifetime_site site_row(const struct asked *asked, const struct site *site,
				     const struct lifetimes *lifetimes)
{
	const uint32_t stack = site->stacks[METRIC_COUNT];

	return (struct lifetime_site) {
		.place = place_of_stack(asked, stack),
		.lived = lived_of(lifetimes),
		.block_count = site->sums.allocated.count,
		.stack = stack,
	};
}

static struct err *sites_fill(const struct asked *asked, struct shape_rows *rows)
{
	const uint64_t top = asked->with->top ? asked->with->top : SITES_MAX;
	const struct site *const *ranked;
	struct lifetimes *by_site;
	struct lifetime_site *items;
	struct sites sites;
	size_t count;
	struct err *err = sites_find(&asked->selection->sums, asked->names, asked->mode,
				     asked->arena, &sites);

	if (!err)
		err = sites_rank(&sites, (enum metric)asked->sort, u64_min(top, SITES_MAX),
				 asked->arena, &ranked, &count);
	if (!err)
		err = ranked_lifetimes(asked, &sites, ranked, count, &by_site);
	if (err)
		return err;
	items = arena_array(asked->arena, count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		items[i] = site_row(asked, ranked[i], &by_site[i]);
	*rows = (struct shape_rows) { .items = items, .count = count };
	return NULL;
}

static struct err *ask(const struct asked *asked, void *result)
{
	struct lifetimes_answer *answer = result;
	struct lifetimes *lifetimes;
	struct err *err = lifetimes_find(asked->model, asked->selection, asked->arena, &lifetimes);

	if (!err)
		err = rows_fill(asked, lifetimes, &answer->lifetimes);
	if (!err && asked->with->sites)
		err = sites_fill(asked, &answer->sites);
	if (err)
		return err;
	answer->lived = lived_of(lifetimes);
	return quality_find(asked, &answer->quality);
}

const struct question question_lifetimes = {
	.name = "lifetimes",
	.summary = "how long blocks lived, of all or of each function (--sites)",
	.shape = &shape_lifetimes,
	.depth = MODEL_FULL,
	.takes = TAKES(sites) | TAKES(top),
	.selects = true,
	.ignores_leaks = true,
	.sorts = metric_words,
	.sort = METRIC_COUNT,
	.ask = ask,
};
