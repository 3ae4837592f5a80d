#include "questions/address_space.h"

#include "questions/most_free.h"
#include "questions/questions.h"
#include "sums/sites.h"

static const struct member class_members[] = {
	MEMBER(struct slack_class, size_min, BYTES, "the smallest that was requested"),
	MEMBER(struct slack_class, size_max, BYTES, "the largest"),
	MEMBER_AS("live_count", struct slack_class, sums.count, COUNT, "live blocks"),
	MEMBER_AS("live_bytes", struct slack_class, sums.bytes, BYTES, "requested"),
	MEMBER_AS("slack_bytes", struct slack_class, sums.slack, BYTES,
		  "what they are larger than requested"),
};
static const struct shape shape_class = SHAPE("SlackClass", struct slack_class, class_members);

#define SITE(key, sum, kind, doc) MEMBER_AS(key, struct waste_site, sums.sum, kind, doc)

static const struct member site_members[] = {
	MEMBER(struct waste_site, place, FLAT, NULL, .shape = &shape_place),
	SITE("unused_bytes", peak.bytes, BYTES,
	     "unused in pages with blocks; each block is charged its part of its page"),
	SITE("partial_blocks", peak.count, COUNT, "blocks in such pages"),
	SITE("pinned_bytes", leaked.bytes, BYTES, "unused in pages that one block keeps alone"),
	SITE("pinned_pages", leaked.count, COUNT, "such pages"),
	SITE("slack_bytes", temporary.bytes, BYTES, "what blocks are larger than requested"),
	SITE("live_bytes", allocated.bytes, BYTES, NULL),
	SITE("live_count", allocated.count, COUNT, "live blocks"),
	MEMBER(struct waste_site, stack, FRAMES, "the stack with most unused"),
};
static const struct shape shape_site = SHAPE("WasteSite", struct waste_site, site_members);

#define WASTE(key, field, kind, doc) MEMBER_AS(key, struct fragmentation, waste.field, kind, doc)

static const struct member fragmentation_members[] = {
	WASTE("at_ns", ns, NS, "the moment"),
	MEMBER(struct fragmentation, has_snapshot, FLAG,
	       "false: pages with live blocks only, all taken to be resident"),
	WASTE("pages_known", is_exact, FLAG, "of all of it is known which pages are resident"),
	WASTE("live_bytes", live.bytes, BYTES, "requested"),
	WASTE("live_count", live.count, COUNT, "live blocks"),
	MEMBER(struct fragmentation, slack_bytes, BYTES,
	       "what live blocks are larger than requested"),
	WASTE("resident_bytes", resident, BYTES, "of the heap"),
	WASTE("live_resident_bytes", live_resident, BYTES, "of live blocks"),
	WASTE("full_pages", full_pages, COUNT, NULL),
	WASTE("free_pages", free_pages, COUNT, "resident, without a live byte"),
	WASTE("tail_pages", tail_pages, COUNT, "of these, behind the last block of a region"),
	WASTE("partial_pages", partial_pages, COUNT, "resident, with blocks and unused bytes"),
	WASTE("partial_blocks", partial_blocks, COUNT, "blocks in partial pages"),
	WASTE("unused_bytes", wasted, BYTES, "of partial pages"),
	WASTE("pinned_pages", pinned_pages, COUNT, "partial, kept by one block alone"),
	WASTE("pinned_bytes", pinned_bytes, BYTES, "of unused_bytes, in pinned pages"),
	MEMBER_AS("pages_by_tenths_live", struct fragmentation, fills, NUMBERS,
		  "resident pages by what of them is live; the last: full"),
	MEMBER(struct fragmentation, sizes, ROWS, "live blocks by requested size",
	       .shape = &shape_class),
	MEMBER(struct fragmentation, sites, ROWS, "functions whose blocks leave pages unused",
	       .shape = &shape_site, .is_table = true),
	MEMBER(struct fragmentation, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_fragmentation =
	SHAPE("Fragmentation", struct fragmentation, fragmentation_members);

static struct err *sizes_fill(const struct asked *asked, struct fragmentation *answer)
{
	struct slack_class *items = arena_array(asked->arena, MODEL_SIZE_BUCKETS, sizeof(*items));
	size_t count = 0;

	if (!items)
		return err_nomem();
	for (unsigned i = 0; i < MODEL_SIZE_BUCKETS; i++) {
		const uint64_t most = i == 0 ? 0 : UINT64_MAX >> (64 - i);

		if (answer->waste.classes[i].count > 0)
			items[count++] = (struct slack_class) {
				.size_min = i == 0 ? 0 : (most >> 1) + 1,
				.size_max = most,
				.sums = answer->waste.classes[i],
			};
	}
	answer->sizes = (struct shape_rows) { .items = items, .count = count };
	return NULL;
}

static struct err *sites_fill(const struct asked *asked, struct fragmentation *answer)
{
	const struct site *const *ranked;
	struct waste_site *items;
	struct sites sites;
	size_t count = 0;
	struct err *err =
		sites_find(&answer->waste.sums, asked->names, asked->mode, asked->arena, &sites);

	if (!err)
		err = sites_rank(&sites, (enum metric)asked->sort, asked->with->top, asked->arena,
				 &ranked, &count);
	if (err)
		return err;
	items = arena_array(asked->arena, count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const uint32_t stack = ranked[i]->stacks[METRIC_PEAK];

		items[i] = (struct waste_site) {
			.place = place_of_stack(asked, stack),
			.sums = ranked[i]->sums,
			.stack = stack,
		};
	}
	answer->sites = (struct shape_rows) { .items = items, .count = count };
	return NULL;
}

/* The remaining members need no cleanup. */
static struct err *waste_at(const struct asked *asked, uint64_t ns, struct space_waste *waste)
{
	CLEAN(space_destroy) struct space *space = NULL;
	struct err *err = space_create(asked->model, &space);

	if (!err)
		err = space_waste_find(asked->model, space, ns, asked->arena, waste);
	space_waste_deinit(waste);
	return err;
}

static struct err *ask(const struct asked *asked, void *result)
{
	struct fragmentation *answer = result;
	uint64_t ns = 0;
	struct err *err = most_free_or_at(asked, &ns);

	if (!err)
		err = waste_at(asked, ns, &answer->waste);
	if (!err)
		err = sizes_fill(asked, answer);
	if (!err)
		err = sites_fill(asked, answer);
	if (err)
		return err;
	answer->has_snapshot = answer->waste.snapshot != SIZE_MAX;
	answer->slack_bytes = answer->waste.live.usable - answer->waste.live.bytes;
	answer->fills = (struct shape_numbers) { answer->waste.fills, SPACE_FILLS + 1 };
	return quality_find(asked, &answer->quality);
}

/* In the order of enum metric, because waste comes as such sums (space/space_waste.h). */
static const char *const sorts[] = { "unused", "pinned", "live", "blocks", "slack", NULL };

const struct question question_fragmentation = {
	.name = "fragmentation",
	.summary = "what of the heap is resident and unused, and whose blocks keep it",
	.one_process = true,
	.shape = &shape_fragmentation,
	.depth = MODEL_FULL,
	.takes = TAKES(at) | TAKES(top),
	.is_patient = true,
	.sorts = sorts,
	.sort = METRIC_PEAK,
	.instead = "--at chooses the moment",
	.ask = ask,
};
