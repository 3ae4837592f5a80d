/* residency: requested against resident bytes of each function, at a snapshot of the address space. */
#include "answer/about.h"
#include "answer/frame.h"
#include "groups/live_blocks.h"
#include "questions/questions.h"
#include "questions/site_order.h"
#include "space/space.h"
#include "space/space_residence.h"
#include "sums/sites.h"

static const uint64_t AGE_MIN_NS = 250000000;

struct resident_sums {
	uint64_t blocks, bytes;
	uint64_t resident, swapped, untouched, unknown, tail, zero;
};

struct resident_site {
	struct resident_sums sums;
	struct place place;
	uint32_t stack;
};

struct residency_answer {
	uint64_t ns, wanted_ns;
	struct resident_sums sums;
	struct shape_rows sites;
	struct quality quality;
};

static const struct member sums_members[] = {
	MEMBER(struct resident_sums, blocks, COUNT, "alive then"),
	MEMBER(struct resident_sums, bytes, BYTES, "requested", .title = "requested"),
	MEMBER_AS("resident_bytes", struct resident_sums, resident, BYTES,
		  "of them in pages with memory behind them", .title = "resident"),
	MEMBER_AS("swapped_bytes", struct resident_sums, swapped, BYTES,
		  "in pages that were swapped out", .title = "swapped"),
	MEMBER_AS("untouched_bytes", struct resident_sums, untouched, BYTES,
		  "in pages that were never written to, or given back", .title = "untouched"),
	MEMBER_AS("tail_bytes", struct resident_sums, tail, BYTES,
		  "of these, at the ends of blocks: more was requested than used",
		  .title = "of it at ends"),
	MEMBER_AS("zero_bytes", struct resident_sums, zero, BYTES,
		  "of the untouched, in pages that were read: all share one page of zeros",
		  .title = "of it only read"),
	MEMBER_AS("unknown_bytes", struct resident_sums, unknown, BYTES,
		  "of which it is not known: not mapped then, or pages were not listed",
		  .title = "unknown"),
};
static const struct shape shape_sums = SHAPE("ResidentSums", struct resident_sums, sums_members);

static const struct member site_members[] = {
	MEMBER(struct resident_site, sums, FLAT, NULL, .shape = &shape_sums),
	MEMBER(struct resident_site, place, FLAT, NULL, .shape = &shape_place),
	MEMBER(struct resident_site, stack, FRAMES, "the one with most of it", .is_data = true),
};
static const struct shape shape_site = SHAPE("ResidentSite", struct resident_site, site_members);

static const struct member answer_members[] = {
	MEMBER_AS("time_ns", struct residency_answer, ns, NS,
		  "of the snapshot; null if there is none: then all is unknown", .nullable = true),
	MEMBER_AS("wanted_ns", struct residency_answer, wanted_ns, NS,
		  "--at, to which the snapshot is the nearest, or the peak, a quarter of a second "
		  "after which it is the first; where there is none so late, the nearest"),
	MEMBER(struct residency_answer, sums, FLAT, NULL, .shape = &shape_sums),
	MEMBER(struct residency_answer, sites, ROWS, "functions, most untouched first",
	       .shape = &shape_site),
	MEMBER(struct residency_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_answer =
	SHAPE("Residency", struct residency_answer, answer_members);

struct looking {
	const struct asked *asked;
	struct space_residence residence;
	struct sites sites;
	struct resident_sums *sums; /* by site */
	struct resident_sums *all;
	uint64_t ns, wanted_ns;
	bool has_snapshot;
};

/* --- the snapshot ------------------------------------------------------------------------------ */

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static size_t nearest(const struct mappings_snapshot_vec *all, uint64_t ns)
{
	size_t best = 0;

	for (size_t i = 1; i < all->count; i++)
		if (distance(space_snapshot_ns(&all->items[i]), ns) <
		    distance(space_snapshot_ns(&all->items[best]), ns))
			best = i;
	return best;
}

/* The first one by which the peak's blocks had time to be filled, or the nearest to the peak. */
static size_t after_peak(const struct mappings_snapshot_vec *all, uint64_t peak_ns)
{
	for (size_t i = 0; i < all->count; i++)
		if (space_snapshot_ns(&all->items[i]) >= peak_ns + AGE_MIN_NS)
			return i;
	return nearest(all, peak_ns);
}

/* The snapshot nearest to --at, or after the peak. */
static struct err *snapshot_find(struct looking *looking)
{
	CLEAN(space_destroy) struct space *space = NULL;
	const struct asked *asked = looking->asked;
	const struct mappings_snapshot_vec *all;
	uint64_t ns = model_totals(asked->model)->peak_ns;
	struct err *err = space_create(asked->model, &space);
	size_t wanted = 0;

	if (!err && asked->with->at)
		err = asked_moment(asked, asked->with->at, ns, &ns);
	if (err)
		return err;
	looking->wanted_ns = ns;
	all = mappings_snapshots(space_mappings(space));
	if (all->count == 0) { /* everything is unknown */
		looking->ns = ns;
		return NULL;
	}
	looking->has_snapshot = true;
	wanted = asked->with->at ? nearest(all, ns) : after_peak(all, ns);
	looking->ns = space_snapshot_ns(&all->items[wanted]);
	for (size_t i = 0; i <= wanted && !err; i++)
		err = space_pass_snapshot(space, i); /* its blocks are not looked at */
	return err ? err
		   : space_residence_find(mappings_image(space_mappings(space)),
					  &looking->residence);
}

/* --- sums -------------------------------------------------------------------------------------- */

static void sums_add(struct resident_sums *sums, uint64_t bytes, const struct space_resident *of)
{
	sums->blocks++;
	sums->bytes += bytes;
	sums->resident += of->resident;
	sums->untouched += of->untouched;
	sums->unknown += of->unknown;
	sums->tail += of->tail;
	sums->swapped += of->swapped;
	sums->zero += of->zero;
}

static void block_add(void *context, const struct live_block *block)
{
	struct looking *looking = context;
	const struct space_resident found =
		space_resident_of(&looking->residence, block->address, block->bytes);

	sums_add(&looking->sums[block->group], block->bytes, &found);
	sums_add(looking->all, block->bytes, &found);
}

static struct err *sums_find(struct looking *looking, struct resident_sums *all)
{
	const struct asked *asked = looking->asked;
	struct live_blocks blocks = { .model = asked->model,
				      .selection = asked->selection,
				      .ns = looking->ns,
				      .limits = asked->limits };
	struct err *err = sites_find(&asked->selection->sums, asked->names, asked->mode,
				     asked->arena, &looking->sites);

	if (err)
		return err;
	looking->all = all;
	looking->sums = arena_array(asked->arena, looking->sites.count + 1, sizeof(*looking->sums));
	if (!looking->sums)
		return err_nomem();
	blocks.group_of = looking->sites.site_of;
	return live_blocks_each(&blocks, block_add, looking);
}

/* By untouched bytes, then by all. */
static struct err *order_make(const struct looking *looking, const uint32_t **order_ret,
			      size_t *count_ret)
{
	const struct asked *asked = looking->asked;
	const size_t count = looking->sites.count;
	struct site_rank *ranks = arena_array(asked->arena, count + 1, sizeof(*ranks));

	if (!ranks)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const struct resident_sums *sums = &looking->sums[i];

		ranks[i] = (struct site_rank) { sums->untouched, sums->bytes, sums->blocks > 0 };
	}
	return site_order(asked, ranks, count, order_ret, count_ret);
}

static struct err *sites_fill(const struct looking *looking, struct shape_rows *rows)
{
	const struct asked *asked = looking->asked;
	const uint32_t *order;
	struct resident_site *items;
	size_t count;
	struct err *err = order_make(looking, &order, &count);

	if (err)
		return err;
	items = arena_array(asked->arena, count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const uint32_t stack = looking->sites.items[order[i]].stacks[METRIC_PEAK];

		items[i] = (struct resident_site) { looking->sums[order[i]],
						    place_of_stack(asked, stack), stack };
	}
	*rows = (struct shape_rows) { items, count };
	return NULL;
}

static struct err *ask(const struct asked *asked, void *result)
{
	CLEAN(free) struct looking *looking = calloc(1, sizeof(*looking));
	struct residency_answer *answer = result;
	struct err *err;

	if (!looking)
		return err_nomem();
	looking->asked = asked;
	err = snapshot_find(looking);
	if (!err)
		err = sums_find(looking, &answer->sums);
	if (!err)
		err = sites_fill(looking, &answer->sites);
	answer->wanted_ns = looking->wanted_ns;
	answer->ns = looking->has_snapshot ? looking->ns : SHAPE_NONE;
	space_residence_deinit(&looking->residence);
	return err ? err : quality_find(asked, &answer->quality);
}

const struct question question_residency = {
	.name = "residency",
	.summary = "what of the requested memory is resident, by function",
	.one_process = true,
	.shape = &shape_answer,
	.depth = MODEL_FULL,
	.takes = TAKES(at) | TAKES(top),
	.selects = true,
	.is_patient = true,
	.ignores_leaks = true,
	.ask = ask,
};
