/*
 * rss_kept: live bytes decreased after the peak, but heap pages without any block stayed resident.
 */
#include "base/sort.h"
#include "findings/finding.h"
#include "space/space_waste.h"

enum {
	FREE_PERCENT = 25,  /* of RSS */
	LIVE_PERCENT = 75,  /* of the peak may still be live */
	TAIL_PERCENT = 50,  /* of the free pages: as many behind all blocks, no block holds */
	BLOCKS_MIN = 16,    /* fewer lie in few places */
	HOLD_PERCENT = 25,  /* of what is unused between blocks; of several functions the largest */
	DURATION_SHARE = 10 /* minimum duration, 10 % of the run: at exit every heap is free */
};

static bool is_kept(const struct finding_search *search, const struct rss_sample *sample)
{
	const int64_t unused = sample->bands[RSS_FREE];

	return sample->is_measured && sample->ns > search->totals->peak_ns &&
	       unused >= FINDING_LARGE_MIN &&
	       finding_is_share((uint64_t)unused, sample->rss_bytes, FREE_PERCENT) &&
	       !finding_is_share((uint64_t)sample->bands[RSS_LIVE], search->totals->peak.bytes,
				 LIVE_PERCENT);
}

struct stretch {
	size_t first; /* index into samples */
	size_t last;
	uint64_t ns;
};

/* Whether what was free was in use again in between: the timeline has the maximum of every span. */
static bool is_used_between(const struct finding_search *search, uint64_t from_ns,
			    uint64_t until_ns, size_t *span)
{
	const struct model_timeline_span *spans = model_timeline(search->model);
	const size_t count = model_timeline_count(search->model);

	while (*span < count && spans[*span].begin_ns < from_ns)
		++*span;
	for (; *span + 1 < count && spans[*span + 1].begin_ns <= until_ns; ++*span) {
		if (finding_is_share(spans[*span].live_bytes_max, search->totals->peak.bytes,
				     LIVE_PERCENT))
			return true;
	}
	return false;
}

/* The longest time in which every measured sample shows it, and that nothing interrupts. */
static struct stretch longest_stretch(const struct finding_search *search)
{
	const struct rss_sample_vec *samples = &search->rss.samples;
	struct stretch best = { 0 }, now = { 0 };
	bool is_in = false;
	size_t span = 0;

	for (size_t i = 0; i < samples->count; i++) {
		const struct rss_sample *sample = &samples->items[i];

		if (!sample->is_measured)
			continue;
		if (!is_in ||
		    is_used_between(search, samples->items[now.last].ns, sample->ns, &span))
			now.first = i;
		is_in = is_kept(search, sample);
		now.last = i;
		now.ns = sample->ns - samples->items[now.first].ns;
		if (is_in && now.ns > best.ns)
			best = now;
	}
	return best;
}

/*
 * The sample with the median free memory: there is less while blocks are being freed, and more at
 * the end of a program.
 */
static struct err *median(const struct finding_search *search, const struct stretch *stretch,
			  const struct rss_sample **sample_ret)
{
	const struct rss_sample *samples = search->rss.samples.items;
	CLEAN(free)
	struct sort_pair *order = calloc(stretch->last - stretch->first + 1, sizeof(*order));
	size_t count = 0;

	if (!order)
		return err_nomem();
	for (size_t i = stretch->first; i <= stretch->last; i++)
		if (samples[i].is_measured)
			order[count++] = (struct sort_pair) { (uint64_t)samples[i].bands[RSS_FREE],
							      (uint32_t)i };
	if (!sort_pairs(order, count))
		return err_nomem();
	*sample_ret = &samples[order[count / 2].index];
	return NULL;
}

static bool is_worth(const struct space_waste *waste, const struct rss_sample *sample)
{
	const uint64_t bytes = waste->free_pages << SPACE_PAGE_SHIFT;

	return bytes >= FINDING_LARGE_MIN &&
	       finding_is_share(bytes, sample->rss_bytes, FREE_PERCENT);
}

/*
 * Whose blocks lie between the free pages: an allocator gives back what is behind the last block.
 * NULL: nobody's in particular.
 */
static const struct site *find_holder(const struct space_waste *waste, const struct sites *sites)
{
	const struct site *holder = NULL;

	if (finding_is_share(waste->tail_pages, waste->free_pages, TAIL_PERCENT))
		return NULL;
	for (size_t i = 0; i < sites->count; i++) {
		const struct site *site = &sites->items[i]; /* its sums: see space_waste.h */

		if (site->sums.peak.count >= BLOCKS_MIN &&
		    finding_is_share(site->sums.peak.bytes, waste->wasted, HOLD_PERCENT) &&
		    (!holder || site->sums.peak.bytes > holder->sums.peak.bytes))
			holder = site;
	}
	return holder;
}

static void add_holder(struct str *evidence, const struct site *holder)
{
	str_add(evidence, ". Between them lie ");
	finding_add_counted(evidence, holder->sums.peak.count, "block");
	str_add(evidence, " of this function, ");
	str_add_iec(evidence, holder->sums.allocated.bytes);
}

static struct err *rss_kept_add(struct finding_search *search, const struct finder *finder,
				const struct stretch *stretch, const struct rss_sample *sample,
				const struct space_waste *waste, const struct site *holder)
{
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = waste->free_pages << SPACE_PAGE_SHIFT,
		.count = waste->free_pages,
		.stack = holder ? holder->stacks[METRIC_PEAK] : FINDING_NO_STACK,
		.advice = holder ? "Allocate what lives long before what lives short, or in a pool "
				   "of its own; or call malloc_trim(0) after such work."
				 : NULL,
		.link = { .page = "space",
			  .report = "fragmentation",
			  .at = finding_moment(search, sample->ns) },
	};

	if (!finding.link.at)
		return err_nomem();
	str_add_iec(&evidence, sample->rss_bytes);
	str_add(&evidence, " were resident after ");
	str_add_duration(&evidence, sample->ns);
	str_add(&evidence, " with ");
	str_add_iec(&evidence, (uint64_t)sample->bands[RSS_LIVE]);
	str_add(&evidence, " alive (");
	str_add_iec(&evidence, search->totals->peak.bytes);
	str_add(&evidence, " at the peak): ");
	finding_add_counted(&evidence, waste->free_pages, "page");
	str_add(&evidence, " of the heap had no block in them, ");
	str_add_percent(&evidence, waste->tail_pages, waste->free_pages);
	str_add(&evidence, " of them behind the last block of their region; so it was for ");
	str_add_duration(&evidence, stretch->ns);
	if (!waste->is_exact)
		str_add(&evidence, FINDING_INEXACT);
	if (holder)
		add_holder(&evidence, holder);
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	const struct stretch stretch = longest_stretch(search);
	CLEAN(space_waste_deinit) struct space_waste waste = { 0 };
	CLEAN(space_destroy) struct space *space = NULL;
	const struct rss_sample *sample = NULL;
	struct sites sites = { 0 };
	struct err *err;

	if (stretch.ns == 0 || stretch.ns < search->duration_ns / DURATION_SHARE)
		return NULL;
	err = median(search, &stretch, &sample);
	if (!err)
		err = space_create(search->model, &space);
	if (!err)
		space_follow_marks(space, &search->rss.marks);
	if (!err)
		err = space_waste_find(search->model, space, sample->ns, search->arena, &waste);
	if (err || !is_worth(&waste, sample))
		return err;
	err = sites_find(&waste.sums, search->names, search->mode, search->arena, &sites);
	return err ? err
		   : rss_kept_add(search, finder, &stretch, sample, &waste,
				  find_holder(&waste, &sites));
}

const struct finder finder_rss_kept = {
	.type = "rss_kept",
	.title = "Memory is free but was not given back to the system",
	.advice =
		"Call malloc_trim(0) after such work, lower M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, "
		"or bound the number of arenas (M_ARENA_MAX).",
	.what = "free memory that stays resident",
	.needs = FINDER_SPACE,
	.find = find,
};
