/*
 * spike: a short, high peak: blocks that live only briefly determine the program's memory need.
 */
#include "findings/finding.h"
#include "select/passes.h"

enum {
	AROUND_SHARE = 20,    /* the spike lies within 5 % of the run around the peak */
	OUTSIDE_PERCENT = 67, /* the spike is within 5 % of the run before and after the peak */
	SITE_PERCENT = 25     /* of the excess belongs to one function, else to none */
};

/* Shorter runs are all beginning and end. */
static const uint64_t DURATION_MIN_NS = 1000000000;

struct spike {
	uint64_t from_ns;
	uint64_t until_ns;
	uint64_t outside; /* most live bytes before and after it */
	uint64_t excess;
	struct model_sum total; /* blocks within the spike that were alive at the peak */
	struct model_sum *sites;
	uint64_t size[MODEL_BATCH];
	uint64_t free_ns[MODEL_BATCH];
	uint64_t flags[MODEL_BATCH];
	uint64_t stack[MODEL_BATCH];
};

/* The timeline has the maximum of every span, so nothing between its points is missed. */
static uint64_t most_outside(const struct finding_search *search, uint64_t from_ns,
			     uint64_t until_ns)
{
	const struct model_timeline_span *spans = model_timeline(search->model);
	const size_t count = model_timeline_count(search->model);
	uint64_t most = 0;

	for (size_t i = 0; i < count; i++) {
		const uint64_t end = i + 1 < count ? spans[i + 1].begin_ns : search->duration_ns;

		if (end <= from_ns || spans[i].begin_ns >= until_ns)
			most = u64_max(most, spans[i].live_bytes_max);
		else if (end >= until_ns)
			most = u64_max(most, spans[i].live_bytes_end);
	}
	return most;
}

static bool find_spike(const struct finding_search *search, struct spike *spike)
{
	const uint64_t around = search->duration_ns / AROUND_SHARE;
	const uint64_t peak_ns = search->totals->peak_ns, peak = search->totals->peak.bytes;

	if (search->duration_ns < DURATION_MIN_NS || peak < FINDING_LARGE_MIN)
		return false;
	spike->from_ns = peak_ns > around ? peak_ns - around : 0;
	spike->until_ns = u64_min(peak_ns + around, search->duration_ns);
	spike->outside = most_outside(search, spike->from_ns, spike->until_ns);
	spike->excess = peak > spike->outside ? peak - spike->outside : 0;
	return spike->excess >= FINDING_LARGE_MIN &&
	       !finding_is_share(spike->outside, peak, OUTSIDE_PERCENT);
}

static void sum_take_block(struct model_sum *sum, uint64_t bytes)
{
	sum->count++;
	sum->bytes += bytes;
}

/* Sums blocks alive at the peak that lived only within the spike. */
static struct err *sum_up(const struct finding_search *search, struct spike *spike)
{
	struct pass pass =
		pass_begin_between(search->model, NULL, spike->from_ns, search->totals->peak_ns);

	spike->sites = arena_array(search->arena, search->sites.count, sizeof(*spike->sites));
	if (!spike->sites)
		return err_nomem();
	while (pass_next(&pass)) {
		pass_read(&pass, MODEL_SIZE, spike->size);
		pass_read(&pass, MODEL_FREE_NS, spike->free_ns);
		pass_read(&pass, MODEL_FLAGS, spike->flags);
		pass_read(&pass, MODEL_STACK, spike->stack);
		for (size_t i = 0; i < pass.count; i++) {
			if (!(spike->flags[i] & MODEL_ALLOCATION_PEAK) ||
			    spike->free_ns[i] > spike->until_ns)
				continue;
			sum_take_block(&spike->total, spike->size[i]);
			sum_take_block(&spike->sites[search->sites.site_of[spike->stack[i]]],
				       spike->size[i]);
		}
	}
	return sweep_check(&search->limits);
}

static const struct site *main_site(const struct finding_search *search, const struct spike *spike)
{
	size_t best = 0;

	for (size_t i = 1; i < search->sites.count; i++)
		if (spike->sites[i].bytes > spike->sites[best].bytes)
			best = i;
	return finding_is_share(spike->sites[best].bytes, spike->excess, SITE_PERCENT)
		       ? &search->sites.items[best]
		       : NULL;
}

static void add_evidence(struct str *out, const struct finding_search *search,
			 const struct spike *spike, const struct model_sum *sum, bool has_site)
{
	str_add_iec(out, search->totals->peak.bytes);
	str_add(out, " were alive after ");
	str_add_duration(out, search->totals->peak_ns);
	str_add(out, ", and never more than ");
	str_add_iec(out, spike->outside);
	str_add(out, " before ");
	str_add_duration(out, spike->from_ns);
	str_add(out, " and after ");
	str_add_duration(out, spike->until_ns);
	str_add(out, has_site ? "; of this function " : "; in all ");
	finding_add_counted(out, sum->count, "block");
	str_add(out, " with ");
	str_add_iec(out, sum->bytes);
	str_add(out, " came and went in between");
}

static struct err *spike_add(struct finding_search *search, const struct finder *finder,
			     const struct spike *spike)
{
	const struct site *site = main_site(search, spike);
	const struct model_sum *sum =
		site ? &spike->sites[site - search->sites.items] : &spike->total;
	char *when = arena_printf(
		search->arena, "at_peak and time >= %" PRIu64 "ns and free_time <= %" PRIu64 "ns",
		spike->from_ns, spike->until_ns);
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = sum->bytes,
		.count = sum->count,
		.stack = site ? site->stacks[METRIC_PEAK] : FINDING_NO_STACK,
		.link = { .page = "flame",
			  .report = "groups",
			  .filter = site && when ? finding_site_filter(search, site, when) : when,
			  .metric = "peak",
			  .sort = "size" },
	};

	if (!finding.link.filter)
		return err_nomem();
	add_evidence(&evidence, search, spike, sum, site);
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	CLEAN(free) struct spike *spike = calloc(1, sizeof(*spike));
	struct err *err;

	if (!spike)
		return err_nomem();
	if (!find_spike(search, spike))
		return NULL;
	err = sum_up(search, spike);
	return err || spike->total.bytes < FINDING_LARGE_MIN ? err
							     : spike_add(search, finder, spike);
}

const struct finder finder_spike = {
	.type = "spike",
	.title = "The peak is a short spike",
	.advice = "Do this work in parts, or free what is not needed before it begins: the whole "
		  "program then needs that much less.",
	.what = "short peaks",
	.needs = FINDER_ROWS,
	.find = find,
};
