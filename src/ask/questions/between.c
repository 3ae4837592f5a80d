#include "questions/between.h"

#include "base/sort.h"
#include "questions/questions.h"
#include "select/moment.h"

enum order { BY_SURVIVED, BY_NET, BY_ALLOCATED, BY_FREED, BY_COUNT, BY_TEMPORARY };

static const char *const orders[] = { "survived", "net",       "allocated", "freed",
				      "count",	  "temporary", NULL };

static const struct member sums_members[] = {
	MEMBER_AS("allocated_bytes", struct span_answer, sums.allocated.bytes, BYTES,
		  "from the one moment to the other"),
	MEMBER_AS("allocated_count", struct span_answer, sums.allocated.count, COUNT,
		  "allocations"),
	MEMBER_AS("survived_bytes", struct span_answer, sums.survived.bytes, BYTES,
		  "of those, alive at the second moment"),
	MEMBER_AS("survived_count", struct span_answer, sums.survived.count, COUNT, "blocks"),
	MEMBER_AS("temporary_bytes", struct span_answer, sums.temporary.bytes, BYTES,
		  "of those, freed before their thread allocated again"),
	MEMBER_AS("temporary_count", struct span_answer, sums.temporary.count, COUNT,
		  "allocations"),
	MEMBER_AS("freed_bytes", struct span_answer, sums.freed.bytes, BYTES,
		  "in that time, also of what was allocated before"),
	MEMBER_AS("freed_count", struct span_answer, sums.freed.count, COUNT, "blocks"),
	MEMBER_AS("live_before_bytes", struct span_answer, sums.before.bytes, BYTES,
		  "alive just before the first moment"),
	MEMBER_AS("live_before_count", struct span_answer, sums.before.count, COUNT, "blocks"),
	MEMBER_AS("live_after_bytes", struct span_answer, sums.after.bytes, BYTES,
		  "alive at the second moment"),
	MEMBER_AS("live_after_count", struct span_answer, sums.after.count, COUNT, "blocks"),
	MEMBER(struct span_answer, net_bytes, SIGNED, "alive after, less before; bytes"),
	MEMBER(struct span_answer, net_count, SIGNED, "alive after, less before; blocks"),
};
static const struct shape shape_sums = SHAPE("SpanSums", struct span_answer, sums_members);

static const struct member site_members[] = {
	MEMBER(struct span_site, place, FLAT, NULL, .shape = &shape_place),
	MEMBER(struct span_site, sums, FLAT, NULL, .shape = &shape_sums),
	MEMBER(struct span_site, stacks, COUNT, "number of different stacks"),
	MEMBER(struct span_site, stack, FRAMES, "the stack of which most survived"),
};
static const struct shape shape_site = SHAPE("SpanSite", struct span_site, site_members);

static const struct member between_members[] = {
	MEMBER(struct between_answer, from_ns, NS, "the first moment"),
	MEMBER(struct between_answer, until_ns, NS, "the second moment"),
	MEMBER(struct between_answer, total, OBJECT, "of all functions", .shape = &shape_sums),
	MEMBER(struct between_answer, sites, ROWS, "functions that allocate", .shape = &shape_site),
	MEMBER(struct between_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_between = SHAPE("Between", struct between_answer, between_members);

/* An ascending sort key for descending order. */
static uint64_t order_most(enum order order, const struct span_sums *sums)
{
	switch (order) {
	case BY_SURVIVED:
		return ~sums->survived.bytes;
	case BY_NET:
		return ~((uint64_t)span_net(sums) ^ UINT64_C(1) << 63);
	case BY_ALLOCATED:
		return ~sums->allocated.bytes;
	case BY_FREED:
		return ~sums->freed.bytes;
	case BY_COUNT:
		return ~sums->allocated.count;
	case BY_TEMPORARY:
		return ~sums->temporary.count;
	}
	return 0;
}

static struct span_answer answer_of(const struct span_sums *sums)
{
	return (struct span_answer) {
		.sums = *sums,
		.net_bytes = span_net(sums),
		.net_count = (int64_t)(sums->after.count - sums->before.count),
	};
}

/* --- sites -------------------------------------------------------------------------------------- */

static bool is_quiet(const struct span_sums *sums)
{
	return sums->allocated.count == 0 && sums->freed.count == 0;
}

/* Sites without activity come last: text omits them. */
static uint64_t order_key(enum order order, const struct span_sums *sums)
{
	return is_quiet(sums) ? UINT64_MAX : u64_min(order_most(order, sums), UINT64_MAX - 1);
}

static struct span_site site_row(const struct asked *asked, const struct site *site,
				 const struct span_sums *sums)
{
	const uint32_t stack = site->stacks[METRIC_LEAKED]; /* span.h: what survived */

	return (struct span_site) {
		.place = place_of_stack(asked, stack),
		.sums = answer_of(sums),
		.stacks = site->stack_count,
		.stack = stack,
	};
}

static struct err *sites_fill(const struct asked *asked, const struct span *span,
			      struct shape_rows *rows)
{
	struct span_sums *by_site;
	struct sort_pair *order;
	struct span_site *items;
	struct sites sites;
	size_t count = 0, quiet_count = 0;
	struct err *err = sites_find(&span->sums, asked->names, asked->mode, asked->arena, &sites);

	if (!err)
		err = span_by_site(span, &sites, asked->arena, &by_site);
	if (err)
		return err;
	order = arena_array(asked->arena, sites.count, sizeof(*order));
	if (!order)
		return err_nomem();
	for (size_t i = 0; i < sites.count; i++)
		order[i] = (struct sort_pair) {
			order_key((enum order)asked->sort, &by_site[i]),
			(uint32_t)i,
		};
	if (!sort_pairs(order, sites.count))
		return err_nomem();
	items = arena_array(asked->arena, sites.count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	while (count < sites.count && (!asked->with->top || count < asked->with->top)) {
		const uint32_t index = order[count].index;

		quiet_count += is_quiet(&by_site[index]);
		items[count++] = site_row(asked, &sites.items[index], &by_site[index]);
	}
	*rows = (struct shape_rows) { .items = items, .count = count, .quiet_count = quiet_count };
	return NULL;
}

/* --- */

static struct err *ask(const struct asked *asked, void *result)
{
	struct between_answer *answer = result;
	struct moment_span moments;
	struct span span;
	uint64_t from_ns = 0, until_ns = 0;
	struct err *err = moment_parse(asked->with->begin, &moments.from);

	if (!err)
		err = moment_parse(asked->with->end, &moments.until);
	if (!err)
		err = moment_span_ns(&moments, asked->model, &from_ns, &until_ns);
	if (!err) /* the end must be on the tape */
		err = moment_ns(&moments.until, asked->model, &until_ns);
	if (!err)
		err = span_find(asked->model, asked->selection, from_ns, until_ns, asked->arena,
				&span);
	if (!err)
		err = sites_fill(asked, &span, &answer->sites);
	if (err)
		return err;
	answer->from_ns = span.from_ns;
	answer->until_ns = span.until_ns;
	answer->total = answer_of(&span.total);
	return quality_find(asked, &answer->quality);
}

const struct question question_between = {
	.name = "between",
	.summary = "what was allocated from A until B and is left, and what was freed",
	.shape = &shape_between,
	.depth = MODEL_FULL,
	.takes = TAKES(begin) | TAKES(end) | TAKES(top),
	.selects = true,
	.ignores_leaks = true,
	.sorts = orders,
	.ask = ask,
};
