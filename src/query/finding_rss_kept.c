/*
 * rss_kept: live bytes came down after the peak, but pages of the heap without any block in them
 * stayed resident.
 */
#include "query/finding.h"
#include "query/space_waste.h"

enum {
	FREE_PERCENT = 25,  /* of RSS */
	LIVE_PERCENT = 75,  /* of the peak is what may still be live */
	DURATION_SHARE = 10 /* of the run it stays at least: every program ends with a free heap */
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
	const struct rss_sample *first;
	const struct rss_sample *last;
	const struct rss_sample
		*least; /* the one with least free memory: that much, all the time */
};

static uint64_t length(const struct stretch *stretch)
{
	return stretch->first ? stretch->last->ns - stretch->first->ns : 0;
}

/* The longest time during which every measured sample shows it. */
static struct stretch longest_stretch(const struct finding_search *search)
{
	const struct rss_sample_vec *samples = &search->rss.samples;
	struct stretch best = { 0 }, now = { 0 };

	for (size_t i = 0; i < samples->count; i++) {
		const struct rss_sample *sample = &samples->items[i];

		if (!sample->is_measured)
			continue;
		if (!is_kept(search, sample)) {
			now = (struct stretch) { 0 };
			continue;
		}
		if (!now.first)
			now.first = now.least = sample;
		now.last = sample;
		if (sample->bands[RSS_FREE] < now.least->bands[RSS_FREE])
			now.least = sample;
		if (length(&now) >= length(&best))
			best = now;
	}
	return best;
}

static struct err *tell(struct finding_search *search, const struct finder *finder,
			const struct stretch *stretch, const struct space_waste *waste)
{
	const struct rss_sample *sample = stretch->least;
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = waste->free_pages << SPACE_PAGE_SHIFT,
		.count = waste->free_pages,
		.stack = FINDING_NO_STACK,
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
	str_add_duration(&evidence, length(stretch));
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	const struct stretch stretch = longest_stretch(search);
	CLEAN(space_waste_deinit) struct space_waste waste = { 0 };
	CLEAN(space_destroy) struct space *space = NULL;
	struct err *err;

	if (!stretch.first || length(&stretch) < search->duration_ns / DURATION_SHARE)
		return NULL;
	err = space_create(search->model, &space);
	if (!err)
		err = space_waste_find(search->model, space, stretch.least->ns, search->arena,
				       &waste);
	if (err || waste.free_pages << SPACE_PAGE_SHIFT < FINDING_LARGE_MIN)
		return err;
	return tell(search, finder, &stretch, &waste);
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
