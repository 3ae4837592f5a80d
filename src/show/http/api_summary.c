/*
 * /api/v1/summary: the figures of the first page, each with how it came about over time.
 */
#include "groups/digest.h"
#include "http/api_parts.h"
#include "sums/sites.h"
#include "time/spans.h"

/* Rates are found in finer steps than what is drawn. */
enum { SPARKS = DIGEST_SPANS, STEPS_A_SPARK = 10, STEPS = SPARKS * STEPS_A_SPARK };

struct summary {
	struct call *call;
	const struct selection *selection;
	const struct digest *digest;
	struct api_range range;
	size_t step_count;
	struct model_timeline_span steps[STEPS];
};

/* --- figures ------------------------------------------------------------------------------- */

static void rss_peak_emit(struct call *call)
{
	const struct model_usage *peak = NULL;

	for (size_t i = 0; i < model_usage_count(call->model); i++) {
		const struct model_usage *usage = &model_usages(call->model)[i];

		if (usage->usage.rss_bytes != UINT64_MAX &&
		    (!peak || usage->usage.rss_bytes > peak->usage.rss_bytes))
			peak = usage;
	}
	if (!peak) {
		emit_null(call->emit, "rss_peak");
		return;
	}
	emit_object(call->emit, "rss_peak");
	emit_u64(call->emit, "bytes", peak->usage.rss_bytes, EMIT_BYTES);
	emit_u64(call->emit, "ns", peak->ns, EMIT_DURATION);
	emit_end(call->emit);
}

static struct err *leaked_emit(const struct summary *summary, struct model_sum leaked)
{
	const struct selection *selection = summary->selection;
	struct call *call = summary->call;
	uint64_t count = 0;
	struct sites sites;
	struct err *err =
		sites_find(&selection->sums, selection->names, WALK_FOLD, call->arena, &sites);

	if (err)
		return err;
	for (size_t i = 0; i < sites.count; i++)
		count += sites.items[i].sums.leaked.count > 0;
	api_sum_begin(call->emit, "leaked", leaked);
	emit_u64(call->emit, "sites", count, EMIT_COUNT);
	emit_end(call->emit);
	return NULL;
}

static uint64_t step_begin(const struct summary *summary, size_t i)
{
	return i < summary->step_count ? summary->steps[i].begin_ns : summary->range.until_ns;
}

static double rate_of(uint64_t count, uint64_t ns)
{
	return ns > 0 ? (double)count * 1e9 / (double)ns : 0;
}

static double rate_max(const struct summary *summary)
{
	double most = 0;

	for (size_t i = 0; i < summary->step_count; i++) {
		const double rate = rate_of(summary->steps[i].allocated.count,
					    step_begin(summary, i + 1) - step_begin(summary, i));

		most = rate > most ? rate : most;
	}
	return most;
}

static void sizes_emit(const struct summary *summary)
{
	struct call *call = summary->call;
	bool is_exact;
	const uint64_t median = digest_median(summary->digest, &is_exact);

	call->is_approximate |= !is_exact;
	json_u64_or_null(call->emit, "size_p50", summary->digest->count ? median : UINT64_MAX,
			 UINT64_MAX);
}

static struct err *figures_emit(const struct summary *summary)
{
	struct call *call = summary->call;
	const struct model_totals totals = selection_totals(summary->selection);
	const bool is_all = selection_is_all(summary->selection);
	const struct digest *digest = summary->digest;
	struct err *err;

	api_sum_begin(call->emit, "peak", totals.peak);
	emit_u64(call->emit, "ns", totals.peak_ns, EMIT_DURATION);
	emit_end(call->emit);
	rss_peak_emit(call);
	api_sum(call->emit, "allocated", totals.allocated);
	api_sum(call->emit, "freed", totals.freed);
	err = leaked_emit(summary, totals.leaked);
	if (err)
		return err;
	api_sum(call->emit, "suppressed", summary->selection->suppressed_leaks.total);
	api_sum(call->emit, "temporary", totals.temporary);
	emit_u64(call->emit, "wasted", digest->usable_bytes - totals.allocated.bytes, EMIT_BYTES);
	emit_u64(call->emit, "realloc_count", is_all ? totals.realloc_count : digest->realloc_count,
		 EMIT_COUNT);
	/* Calls that failed are no allocations: of a part of them nothing is known. */
	json_u64_or_null(call->emit, "failed_count", is_all ? totals.failed_count : UINT64_MAX,
			 UINT64_MAX);
	sizes_emit(summary);
	emit_u64(call->emit, "duration_ns", model_process(call->model)->duration_ns, EMIT_DURATION);
	emit_ratio(
		call->emit, "rate_mean",
		rate_of(totals.allocated.count, summary->range.until_ns - summary->range.from_ns),
		3);
	emit_ratio(call->emit, "rate_max", rate_max(summary), 3);
	return NULL;
}

/* --- over time ----------------------------------------------------------------------------- */

static void live_emit(const struct summary *summary)
{
	uint64_t live[SPARKS] = { 0 };
	double rate[SPARKS] = { 0 };

	for (size_t i = 0; i < SPARKS; i++) {
		const size_t first = i * summary->step_count / SPARKS;
		const size_t end = u64_max((i + 1) * summary->step_count / SPARKS, first + 1);
		uint64_t count = 0;

		for (size_t step = first; step < end; step++) {
			live[i] = u64_max(live[i], summary->steps[step].live_bytes_max);
			count += summary->steps[step].allocated.count;
		}
		rate[i] = rate_of(count, step_begin(summary, end) - step_begin(summary, first));
	}
	json_u64s(summary->call->emit, "live", live, SPARKS);
	json_doubles(summary->call->emit, "rate", rate, SPARKS, 3);
}

/* The most of each span; of one without a sample what was last known. */
static void rss_emit(const struct summary *summary)
{
	const struct model *model = summary->call->model;
	const struct api_range *range = &summary->range;
	uint64_t values[SPARKS] = { 0 }, last = UINT64_MAX;
	const size_t count = model_usage_count(model);
	size_t at = 0;

	for (size_t i = 0; i < SPARKS; i++) {
		const uint64_t end =
			range->from_ns +
			(uint64_t)((unsigned __int128)(range->until_ns - range->from_ns) * (i + 1) /
				   SPARKS);

		for (; at < count && model_usages(model)[at].ns < end; at++) {
			const struct model_usage *usage = &model_usages(model)[at];

			if (usage->usage.rss_bytes == UINT64_MAX)
				continue;
			last = usage->usage.rss_bytes;
			if (usage->ns >= range->from_ns)
				values[i] = u64_max(values[i], last);
		}
		if (values[i] == 0 && last != UINT64_MAX)
			values[i] = last;
	}
	if (last == UINT64_MAX)
		emit_null(summary->call->emit, "rss");
	else
		json_u64s(summary->call->emit, "rss", values, SPARKS);
}

static void sparks_emit(const struct summary *summary)
{
	uint64_t allocated[SPARKS], leaked[SPARKS], temporary[SPARKS];
	struct emit *emit = summary->call->emit;
	uint64_t allocated_sum = 0, leaked_sum = 0;

	for (size_t i = 0; i < SPARKS; i++) {
		const struct digest_span *span = &summary->digest->spans[i];

		allocated[i] = allocated_sum += span->allocated.bytes;
		leaked[i] = leaked_sum += span->leaked.bytes;
		temporary[i] = span->temporary.count;
	}
	emit_object(emit, "sparks");
	live_emit(summary);
	rss_emit(summary);
	json_u64s(emit, "allocated", allocated, SPARKS);
	json_u64s(emit, "leaked", leaked, SPARKS);
	json_u64s(emit, "temporary", temporary, SPARKS);
	emit_end(emit);
}

static struct err *steps_find(struct summary *summary)
{
	const struct api_range *range = &summary->range;

	summary->step_count = u64_min(STEPS, range->until_ns - range->from_ns);
	if (!selection_is_all(summary->selection))
		return spans_find(summary->selection, range->from_ns, range->until_ns,
				  summary->step_count, summary->steps);
	model_timeline_window(summary->call->model, range->from_ns, range->until_ns,
			      summary->step_count, summary->steps);
	return NULL;
}

static struct err *run(struct call *call)
{
	struct summary *summary = arena_new(call->arena, struct summary);
	struct err *err;

	if (!summary)
		return err_nomem();
	summary->call = call;
	err = api_range(call, &summary->range);
	if (!err)
		err = api_select(call, &summary->selection);
	if (!err)
		err = digest_find(summary->selection, summary->range.from_ns,
				  summary->range.until_ns, call->arena, &summary->digest);
	if (!err)
		err = steps_find(summary);
	if (!err)
		err = figures_emit(summary);
	if (!err)
		sparks_emit(summary);
	return err;
}

const struct route route_api_summary = {
	.path = "/api/v1/summary",
	.summary = "peak, leaks, temporary allocations and other figures",
	.answer = "Summary",
	.flags = ROUTE_TAPE | ROUTE_SELECTS,
	.run = run,
};
