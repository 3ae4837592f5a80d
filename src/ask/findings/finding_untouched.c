/*
 * untouched: large blocks whose pages were never written to, according to the kernel's next
 * snapshot after the peak; of blocks that live on, according to the last one as well: they may be
 * filled late.
 */
#include "findings/finding.h"
#include "select/passes.h"
#include "space/space.h"
#include "space/space_residence.h"

/* A new block has had no time to be filled. */
static const uint64_t AGE_MIN_NS = 250000000;

enum {
	SIZE_MIN = 1 << 16, /* smaller blocks share most of their pages with others */
	PERCENT_MIN = 50    /* of the bytes in these blocks */
};

struct untouched {
	struct model_sum blocks; /* large blocks that are old enough */
	uint64_t absent;	 /* their bytes in whole pages that are not resident */
};

struct look {
	struct finding_search *search;
	struct space_residence residence; /* at ns */
	struct space_residence last;	  /* at last_ns */
	uint64_t ns;
	uint64_t last_ns;
	struct untouched *sites;
	uint64_t size[MODEL_BATCH];
	uint64_t rows[MODEL_BATCH];
	uint64_t free_ns[MODEL_BATCH];
	uint64_t address[MODEL_BATCH];
	uint64_t stack[MODEL_BATCH];
};

/*
 * Bytes of the block's whole pages that are mapped and known not to be resident; where the last
 * snapshot does not know all of them, by the first one alone.
 */
static uint64_t absent_bytes(const struct look *look, uint64_t address, uint64_t size,
			     uint64_t free_ns)
{
	const uint64_t page = SPACE_PAGE;
	struct space_resident last;
	uint64_t begin, end, absent;

	if (size > SPACE_BLOCK_MAX || address > UINT64_MAX - size - page)
		return 0;
	begin = align_up(address, page);
	end = (address + size) & ~(page - 1);
	if (begin >= end)
		return 0;
	absent = space_resident_of(&look->residence, begin, end - begin).untouched;
	if (free_ns <= look->last_ns)
		return absent;
	last = space_resident_of(&look->last, begin, end - begin);
	return last.unknown > 0 ? absent : u64_min(absent, last.untouched);
}

static void look_at(struct look *look, size_t count)
{
	const struct model *model = look->search->model;

	model_rows_gather(model, MODEL_FREE_NS, look->rows, count, look->free_ns);
	model_rows_gather(model, MODEL_ADDRESS, look->rows, count, look->address);
	model_rows_gather(model, MODEL_STACK, look->rows, count, look->stack);
	model_rows_gather(model, MODEL_SIZE, look->rows, count, look->size);
	for (size_t i = 0; i < count; i++) {
		struct untouched *site = &look->sites[look->search->sites.site_of[look->stack[i]]];

		if (look->free_ns[i] <= look->ns)
			continue;
		site->blocks.count++;
		site->blocks.bytes += look->size[i];
		site->absent +=
			absent_bytes(look, look->address[i], look->size[i], look->free_ns[i]);
	}
}

/* Large blocks that were allocated early enough. */
static struct err *look_at_all(struct look *look)
{
	struct pass pass = pass_begin_between(look->search->model, NULL, 0, look->ns - AGE_MIN_NS);

	while (pass_next(&pass)) {
		size_t count = 0;

		pass_read(&pass, MODEL_SIZE, look->size);
		for (size_t i = 0; i < pass.count; i++)
			if (look->size[i] >= SIZE_MIN)
				look->rows[count++] = pass.rows[i];
		if (count > 0)
			look_at(look, count);
	}
	return sweep_check(&look->search->limits);
}

static struct err *untouched_add(const struct look *look, const struct finder *finder,
				 const struct site *site, const struct untouched *untouched)
{
	struct finding_search *search = look->search;
	char *which = arena_printf(
		search->arena, "size >= %d and alive_at %" PRIu64 "ns and time <= %" PRIu64 "ns",
		SIZE_MIN, look->ns, look->ns - AGE_MIN_NS);
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = untouched->absent,
		.count = untouched->blocks.count,
		.stack = site->stacks[METRIC_PEAK],
		.link = { .page = "allocations",
			  .report = "allocations",
			  .filter = which ? finding_site_filter(search, site, which) : NULL,
			  .at = finding_moment(search, look->ns),
			  .sort = "size" },
	};

	if (!finding.link.filter || !finding.link.at)
		return err_nomem();
	str_add_iec(&evidence, untouched->blocks.bytes);
	str_add(&evidence, " requested in ");
	finding_add_counted(&evidence, untouched->blocks.count, "large block");
	str_add(&evidence, ", of which at most ");
	str_add_iec(&evidence, untouched->blocks.bytes - untouched->absent);
	str_add(&evidence, " had been touched (an estimate, from looks at the pages): ");
	str_add_percent(&evidence, untouched->absent, untouched->blocks.bytes);
	str_add(&evidence, " had no memory behind it after ");
	str_add_duration(&evidence, look->ns);
	str_add(&evidence, ", at least ");
	str_add_duration(&evidence, AGE_MIN_NS);
	str_add(&evidence, " after the allocation");
	return finding_add(search, finder, finding, &evidence);
}

/* Whether the peak's blocks are old enough in the last snapshot so far. */
static bool is_old(const struct look *look)
{
	return look->last_ns >= AGE_MIN_NS &&
	       look->last_ns - AGE_MIN_NS >= look->search->totals->peak_ns;
}

/*
 * Looks at the first snapshot by which the peak's blocks are old enough, or at the last one; and at
 * the last one.
 */
static struct err *look_at_pages(struct look *look, struct space *space)
{
	const struct mappings_snapshot_vec *all = mappings_snapshots(space_mappings(space));
	const struct mappings_image *image = mappings_image(space_mappings(space));
	struct err *err = NULL;

	for (size_t i = 0; i < all->count && !err; i++) {
		const bool was_old = is_old(look);

		look->last_ns = space_snapshot_ns(&all->items[i]);
		err = space_pass_snapshot(space, i); /* its blocks are not looked at */
		if (err || was_old || (!is_old(look) && i + 1 < all->count))
			continue;
		look->ns = look->last_ns;
		err = space_residence_find(image, &look->residence);
	}
	return err || look->ns < AGE_MIN_NS ? err : space_residence_find(image, &look->last);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	CLEAN(space_destroy) struct space *space = NULL;
	CLEAN(free) struct look *look = calloc(1, sizeof(*look));
	const size_t site_count = search->sites.count;
	struct err *err = space_create(search->model, &space);

	if (err || !look)
		return err ? err : err_nomem();
	space_follow_marks(space, &search->rss.marks);
	look->search = search;
	look->sites = arena_array(search->arena, site_count, sizeof(*look->sites));
	err = look->sites ? look_at_pages(look, space) : err_nomem();
	if (!err && look->ns >= AGE_MIN_NS)
		err = look_at_all(look);
	space_residence_deinit(&look->residence);
	space_residence_deinit(&look->last);
	for (size_t i = 0; !err && i < site_count; i++) {
		const struct untouched *untouched = &look->sites[i];

		if (untouched->absent >= FINDING_LARGE_MIN &&
		    finding_is_worth(search, untouched->absent) &&
		    finding_is_share(untouched->absent, untouched->blocks.bytes, PERCENT_MIN))
			err = untouched_add(look, finder, &search->sites.items[i], untouched);
	}
	return err;
}

const struct finder finder_untouched = {
	.type = "untouched",
	.title = "Memory was requested and never touched",
	.advice = "Reserve less, and let it grow on demand. It takes no memory yet, only address "
		  "space, but is counted as live.",
	.what = "memory that is never touched",
	.needs = FINDER_SPACE,
	.is_leading = true, /* of a huge block it says why */
	.find = find,
};
