/*
 * overview: figures of the summary that need every allocation: rates, the median size, and the
 * development over time.
 */
#include "answer/about.h"
#include "base/number.h"
#include "groups/digest.h"
#include "questions/summary.h"
#include "questions/questions.h"
#include "sums/sites.h"
#include "time/spans.h"

#include <math.h>

/* Rates are measured in finer steps than displayed. */
enum { SPANS = DIGEST_SPANS, STEPS_A_SPAN = 10, STEPS = SPANS * STEPS_A_SPAN };

struct rss_peak {
	uint64_t bytes, ns;
};

struct overview_span {
	uint64_t begin_ns;
	uint64_t live_bytes_max, rss_bytes;
	double rate;
	uint64_t allocated_bytes, leaked_bytes;
	uint64_t temporary_count;
};

struct overview {
	const struct rss_peak *rss_peak;
	uint64_t leaking_functions;
	uint64_t wasted_bytes, realloc_count;
	uint64_t size_p50;
	bool size_is_exact;
	double rate_mean, rate_max;
	struct shape_rows spans;
	struct quality quality;
};

static const struct member rss_members[] = {
	MEMBER(struct rss_peak, bytes, BYTES, NULL),
	MEMBER(struct rss_peak, ns, NS, "when"),
};
static const struct shape shape_rss = SHAPE("RssPeak", struct rss_peak, rss_members);

static const struct member span_members[] = {
	MEMBER(struct overview_span, begin_ns, NS, NULL, .title = "time"),
	MEMBER(struct overview_span, live_bytes_max, BYTES, "most bytes alive in it",
	       .title = "live"),
	MEMBER(struct overview_span, rss_bytes, BYTES, "most resident bytes, or the last known",
	       .title = "resident", .nullable = true),
	MEMBER(struct overview_span, rate, RATIO, "allocations per second", .title = "per second"),
	MEMBER(struct overview_span, allocated_bytes, BYTES, "until its end", .title = "allocated"),
	MEMBER(struct overview_span, leaked_bytes, BYTES,
	       "allocated until its end, never freed and not suppressed", .title = "leaked"),
	MEMBER(struct overview_span, temporary_count, COUNT,
	       "allocations in it that were freed before their thread allocated again",
	       .title = "temporary"),
};
static const struct shape shape_span = SHAPE("OverviewSpan", struct overview_span, span_members);

static const struct member overview_members[] = {
	MEMBER(struct overview, rss_peak, OBJECT, "most resident bytes that were seen",
	       .shape = &shape_rss, .nullable = true),
	MEMBER(struct overview, leaking_functions, COUNT, "functions that leak"),
	MEMBER(struct overview, wasted_bytes, BYTES,
	       "what the allocator gave beyond what was asked"),
	MEMBER(struct overview, realloc_count, COUNT, "allocations that continue an older block"),
	MEMBER(struct overview, size_p50, BYTES, "half of the allocations are not larger",
	       .nullable = true),
	MEMBER(struct overview, size_is_exact, FLAG, "false: size_p50 is an estimate"),
	MEMBER(struct overview, rate_mean, RATIO, "allocations per second"),
	MEMBER(struct overview, rate_max, RATIO, "the most of a 240th of the time"),
	MEMBER(struct overview, spans, ROWS, "equal spans of the time", .shape = &shape_span),
	MEMBER(struct overview, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_overview = SHAPE("Overview", struct overview, overview_members);

/* The displayed part. */
struct view {
	const struct asked *asked;
	const struct digest *digest;
	uint64_t from_ns, until_ns; /* exclusive */
	size_t step_count;
	struct model_timeline_span steps[STEPS];
};

/* --- rates ---------------------------------------------------------------------------------- */

static uint64_t step_begin(const struct view *view, size_t i)
{
	return i < view->step_count ? view->steps[i].begin_ns : view->until_ns;
}

static double rate_of(uint64_t count, uint64_t ns)
{
	return ns > 0 ? (double)count * 1e9 / (double)ns : 0;
}

static double rate_max(const struct view *view)
{
	double most = 0;

	for (size_t i = 0; i < view->step_count; i++)
		most = fmax(most, rate_of(view->steps[i].allocated.count,
					  step_begin(view, i + 1) - step_begin(view, i)));
	return most;
}

static struct err *steps_find(struct view *view)
{
	view->step_count = u64_min(STEPS, view->until_ns - view->from_ns);
	if (!selection_is_all(view->asked->selection))
		return spans_find(view->asked->selection, view->from_ns, view->until_ns,
				  view->step_count, view->steps);
	model_timeline_window(view->asked->model, view->from_ns, view->until_ns, view->step_count,
			      view->steps);
	return NULL;
}

/* --- over time ------------------------------------------------------------------------------ */

static uint64_t part_of(const struct view *view, size_t i)
{
	return view->from_ns + u64_mul_div(view->until_ns - view->from_ns, i, SPANS);
}

static void live_fill(const struct view *view, struct overview_span *spans)
{
	for (size_t i = 0; i < SPANS; i++) {
		const size_t first = i * view->step_count / SPANS;
		const size_t end = u64_max((i + 1) * view->step_count / SPANS, first + 1);
		uint64_t count = 0;

		for (size_t step = first; step < end; step++) {
			spans[i].live_bytes_max =
				u64_max(spans[i].live_bytes_max, view->steps[step].live_bytes_max);
			count += view->steps[step].allocated.count;
		}
		spans[i].rate = rate_of(count, step_begin(view, end) - step_begin(view, first));
	}
}

/* The maximum of each span; without a sample, the last known value. */
static void rss_fill(const struct view *view, struct overview_span *spans)
{
	const struct model *model = view->asked->model;
	const size_t count = model_usage_count(model);
	uint64_t last = SHAPE_NONE;
	size_t at = 0;

	for (size_t i = 0; i < SPANS; i++) {
		uint64_t most = 0;

		for (; at < count && model_usages(model)[at].ns < part_of(view, i + 1); at++) {
			const struct model_usage *usage = &model_usages(model)[at];

			if (usage->usage.rss_bytes == UINT64_MAX)
				continue;
			last = usage->usage.rss_bytes;
			if (usage->ns >= view->from_ns)
				most = u64_max(most, last);
		}
		spans[i].rss_bytes = most ? most : last;
	}
}

static struct err *spans_fill(const struct view *view, struct shape_rows *rows)
{
	struct overview_span *spans = arena_array(view->asked->arena, SPANS, sizeof(*spans));
	uint64_t allocated = 0, leaked = 0;

	if (!spans)
		return err_nomem();
	for (size_t i = 0; i < SPANS; i++) {
		const struct digest_span *span = &view->digest->spans[i];

		spans[i].begin_ns = part_of(view, i);
		spans[i].allocated_bytes = allocated += span->allocated.bytes;
		spans[i].leaked_bytes = leaked += span->leaked.bytes;
		spans[i].temporary_count = span->temporary.count;
	}
	live_fill(view, spans);
	rss_fill(view, spans);
	*rows = (struct shape_rows) { spans, SPANS };
	return NULL;
}

/* --- figures -------------------------------------------------------------------------------- */

static struct err *rss_peak_find(const struct asked *asked, const struct rss_peak **peak_ret)
{
	const struct selection *selection = asked->selection;
	const struct model_usage *most =
		model_rss_peak(asked->model, selection->from_ns, selection->until_ns);
	struct rss_peak *peak = most ? arena_new(asked->arena, struct rss_peak) : NULL;

	if (!most)
		return NULL;
	if (!peak)
		return err_nomem();
	*peak = (struct rss_peak) { most->usage.rss_bytes, most->ns };
	*peak_ret = peak;
	return NULL;
}

static struct err *leaking_count(const struct asked *asked, uint64_t *count_ret)
{
	struct sites sites;
	struct err *err = sites_find(&asked->selection->sums, asked->names, asked->mode,
				     asked->arena, &sites);

	for (size_t i = 0; !err && i < sites.count; i++)
		*count_ret += sites.items[i].sums.leaked.count > 0;
	return err;
}

static struct err *figures_fill(const struct view *view, struct overview *overview)
{
	const struct asked *asked = view->asked;
	const struct model_totals totals = selection_totals(asked->selection);
	const struct digest *digest = view->digest;
	const uint64_t median = digest_median(digest, &overview->size_is_exact);
	const uint64_t reallocs =
		selection_is_all(asked->selection) ? totals.realloc_count : digest->realloc_count;
	struct err *err = rss_peak_find(asked, &overview->rss_peak);

	overview->wasted_bytes = digest->usable_bytes - totals.allocated.bytes;
	overview->realloc_count = reallocs;
	overview->size_p50 = digest->count ? median : SHAPE_NONE;
	overview->rate_mean = summary_rate(asked->selection);
	overview->rate_max = rate_max(view);
	return err ? err : leaking_count(asked, &overview->leaking_functions);
}

static struct err *ask(const struct asked *asked, void *result)
{
	struct view *view = arena_new(asked->arena, struct view);
	struct overview *overview = result;
	struct err *err;

	if (!view)
		return err_nomem();
	view->asked = asked;
	err = asked_range(asked, &view->from_ns, &view->until_ns);
	/* Events at the end time are included. */
	view->until_ns = u64_min(view->until_ns, UINT64_MAX - 1) + 1;
	if (!err)
		err = digest_find(asked->selection, view->from_ns, view->until_ns, asked->arena,
				  &view->digest);
	if (!err)
		err = steps_find(view);
	if (!err)
		err = figures_fill(view, overview);
	if (!err)
		err = spans_fill(view, &overview->spans);
	return err ? err : quality_find(asked, &overview->quality);
}

const struct question question_overview = {
	.name = "overview",
	.summary = "rates, the median size and 24 spans of the time",
	.shape = &shape_overview,
	.depth = MODEL_FULL,
	.selects = true,
	.ask = ask,
};
