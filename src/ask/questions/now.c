#include "questions/timeline.h"

#include <string.h>

#include "answer/program.h"
#include "base/sort.h"
#include "base/str.h"
#include "model/following.h"
#include "questions/questions.h"
#include "time/span.h"

enum { POINTS_DEFAULT = 60, TOP_DEFAULT = 100, CALLERS_MAX = 64 };
static const uint64_t LAST_NS = UINT64_C(60000000000);

const char *const now_orders[] = {
	[NOW_BY_LIVE] = "live",		  [NOW_BY_GROWTH] = "growth", [NOW_BY_CHURN] = "churn",
	[NOW_BY_ALLOCATED] = "allocated", [NOW_BY_BLOCKS] = "blocks", NULL,
};

static const struct member rates_members[] = {
	MEMBER(struct now_rates, live_bytes, BYTES, "alive at the end", .title = "live"),
	MEMBER(struct now_rates, live_count, COUNT, "blocks alive at the end", .title = "blocks"),
	MEMBER(struct now_rates, growth_bytes, SIGNED, "live_bytes, less those before the window",
	       .title = "growth"),
	MEMBER_AS("growth_bytes_per_s", struct now_rates, growth_rate, AMOUNT,
		  "the same in a second"),
	MEMBER(struct now_rates, allocated_bytes, BYTES, "in the window", .title = "allocated"),
	MEMBER(struct now_rates, allocated_count, COUNT, "allocations in the window",
	       .title = "allocations"),
	MEMBER(struct now_rates, freed_count, COUNT,
	       "blocks freed in the window, whenever they were allocated", .title = "frees"),
	MEMBER_AS("allocated_bytes_per_s", struct now_rates, allocated_bytes_rate, AMOUNT,
		  "allocated in a second"),
	MEMBER_AS("allocations_per_s", struct now_rates, allocated_rate, RATIO, NULL),
	MEMBER_AS("frees_per_s", struct now_rates, freed_rate, RATIO, NULL),
	MEMBER(struct now_rates, temporary_count, COUNT,
	       "allocations in the window that were freed before their thread allocated again",
	       .title = "temporary"),
};
static const struct shape shape_rates = SHAPE("NowRates", struct now_rates, rates_members);

static const struct member site_members[] = {
	MEMBER(struct now_site, place, FLAT, NULL, .shape = &shape_place),
	MEMBER(struct now_site, rates, FLAT, NULL, .shape = &shape_rates),
	MEMBER(struct now_site, stacks, COUNT, "number of different stacks"),
	MEMBER(struct now_site, stack, FRAMES, "the stack with most live bytes"),
};
static const struct shape shape_site = SHAPE("NowSite", struct now_site, site_members);

static const struct member now_members[] = {
	MEMBER(struct now_answer, program, TEXT, "its name; empty: not known yet"),
	MEMBER(struct now_answer, pid, PLAIN, NULL),
	MEMBER(struct now_answer, end, TEXT, "exited 0, killed by SIGKILL ...; null: none is known",
	       .nullable = true),
	MEMBER(struct now_answer, duration_ns, NS, "how long was recorded; the end of the window"),
	MEMBER(struct now_answer, from_ns, NS, "the beginning of the window"),
	MEMBER(struct now_answer, rss_bytes, BYTES, "resident, by the last sample",
	       .nullable = true),
	MEMBER(struct now_answer, total, OBJECT, "of all functions", .shape = &shape_rates),
	MEMBER(struct now_answer, peak_bytes, BYTES, "alive at the peak"),
	MEMBER(struct now_answer, peak_ns, NS, "when that was"),
	MEMBER(struct now_answer, timeline, ROWS, "equal spans of the window",
	       .shape = &shape_timeline_step, .is_data = true),
	MEMBER(struct now_answer, sort, TEXT, "what sites are sorted by"),
	MEMBER(struct now_answer, sites, ROWS,
	       "functions with live blocks, or that did something in the window",
	       .shape = &shape_site, .is_table = true),
	MEMBER(struct now_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
const struct shape shape_now = SHAPE("Now", struct now_answer, now_members);

/* --- sites -------------------------------------------------------------------------------------- */

struct window {
	const struct asked *asked;
	struct span span;
	double seconds;
};

static double a_second(const struct window *window, double amount)
{
	return window->seconds > 0 ? amount / window->seconds : 0;
}

static struct now_rates rates_of(const struct window *window, const struct span_sums *sums)
{
	return (struct now_rates) {
		.live_bytes = sums->after.bytes,
		.live_count = sums->after.count,
		.growth_bytes = span_net(sums),
		.growth_rate = a_second(window, (double)span_net(sums)),
		.allocated_bytes = sums->allocated.bytes,
		.allocated_count = sums->allocated.count,
		.freed_count = sums->freed.count,
		.allocated_bytes_rate = a_second(window, (double)sums->allocated.bytes),
		.allocated_rate = a_second(window, (double)sums->allocated.count),
		.freed_rate = a_second(window, (double)sums->freed.count),
		.temporary_count = sums->temporary.count,
	};
}

/* An ascending sort key for descending order. */
static uint64_t order_key(enum now_order order, const struct span_sums *sums)
{
	switch (order) {
	case NOW_BY_LIVE:
		return ~sums->after.bytes;
	case NOW_BY_GROWTH:
		return ~((uint64_t)span_net(sums) ^ UINT64_C(1) << 63);
	case NOW_BY_CHURN:
		return ~sums->allocated.count;
	case NOW_BY_ALLOCATED:
		return ~sums->allocated.bytes;
	case NOW_BY_BLOCKS:
		return ~sums->after.count;
	}
	return 0;
}

static bool is_of_now(const struct span_sums *sums)
{
	return sums->after.count > 0 || sums->allocated.count > 0 || sums->freed.count > 0;
}

static struct err *callers_find(const struct asked *asked, uint32_t stack, struct shape_rows *rows)
{
	struct walk walk = walk_begin(asked->model, asked->names, stack, asked->mode);
	struct frame *frames = arena_array(asked->arena, CALLERS_MAX, sizeof(*frames));
	const struct name_frame *frame;
	size_t count = 0;

	if (!frames)
		return err_nomem();
	while (count < CALLERS_MAX && (frame = walk_next(&walk)))
		frames[count++] = frame_of(asked->model, asked->names, frame);
	*rows = (struct shape_rows) { .items = frames, .count = count };
	return NULL;
}

static struct err *site_fill(const struct window *window, const struct site *site,
			     const struct span_sums *sums, struct now_site *row)
{
	const uint32_t stack = site->stacks[sums->after.bytes > 0 ? METRIC_PEAK : METRIC_ALLOCATED];

	*row = (struct now_site) {
		.place = place_of_stack(window->asked, stack),
		.rates = rates_of(window, sums),
		.stacks = site->stack_count,
		.stack = stack,
	};
	return callers_find(window->asked, stack, &row->callers);
}

static struct err *order_find(const struct window *window, const struct sites *sites,
			      const struct span_sums *by_site, struct sort_pair **order_ret,
			      size_t *count_ret)
{
	struct sort_pair *order =
		arena_array(window->asked->arena, sites->count + 1, sizeof(*order));
	size_t count = 0;

	if (!order)
		return err_nomem();
	for (size_t i = 0; i < sites->count; i++)
		if (is_of_now(&by_site[i]))
			order[count++] = (struct sort_pair) {
				order_key((enum now_order)window->asked->sort, &by_site[i]),
				(uint32_t)i,
			};
	*order_ret = order;
	*count_ret = count;
	return sort_pairs(order, count) ? NULL : err_nomem();
}

static struct err *sites_fill(const struct window *window, struct now_answer *answer)
{
	const struct asked *asked = window->asked;
	const uint64_t top = asked->with->top ? asked->with->top : TOP_DEFAULT;
	struct span_sums *by_site;
	struct sort_pair *order = NULL;
	struct now_site *items;
	struct sites sites;
	size_t count = 0;
	struct err *err =
		sites_find(&window->span.sums, asked->names, asked->mode, asked->arena, &sites);

	if (!err)
		err = span_by_site(&window->span, &sites, asked->arena, &by_site);
	if (!err)
		err = order_find(window, &sites, by_site, &order, &count);
	if (err)
		return err;
	answer->site_count = count;
	count = u64_min(count, top);
	items = arena_array(asked->arena, count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count && !err; i++)
		err = site_fill(window, &sites.items[order[i].index], &by_site[order[i].index],
				&items[i]);
	answer->sites = (struct shape_rows) { .items = items, .count = count };
	return err;
}

/* --- */

/* False: it is no time. */
static bool last_parse(const char *text, uint64_t *ns_ret)
{
	if (strcmp(text, "all") == 0) {
		*ns_ret = UINT64_MAX;
		return true;
	}
	return str_parse_duration(text, ns_ret) && *ns_ret > 0;
}

static struct err *check(const struct parameters *with)
{
	uint64_t ns;

	if (with->last && !last_parse(with->last, &ns))
		return err_new(ERR_USAGE,
			       "last must be a time such as 500ms, 30s or 5m, or all, not '%s'",
			       with->last);
	return NULL;
}

static uint64_t last_ns(const struct parameters *with)
{
	uint64_t ns;

	return with->last && last_parse(with->last, &ns) ? ns : LAST_NS;
}

/* The time of the last event, or of the last sample: a program at rest has no events. */
static uint64_t end_ns(const struct model *model)
{
	const size_t count = model_usage_count(model);
	const uint64_t sampled_ns = count > 0 ? model_usages(model)[count - 1].ns : 0;

	return u64_max(model_process(model)->duration_ns, sampled_ns);
}

/* Of a tape that is followed the moment nearest to it. */
static uint64_t begin_ns(const struct model *model, uint64_t until_ns, uint64_t last)
{
	const uint64_t from_ns = until_ns - u64_min(until_ns, last);

	return model_is_followed(model) ? u64_min(model_window_begin(model, from_ns), until_ns)
					: from_ns;
}

static struct err *process_fill(const struct asked *asked, struct now_answer *answer)
{
	const struct model_process *process = model_process(asked->model);
	const struct model_totals totals = selection_totals(asked->selection);
	CLEAN(str_deinit) struct str end = { 0 };

	answer->program = program_name(asked->model);
	answer->pid = process->pid;
	answer->peak_bytes = totals.peak.bytes;
	answer->peak_ns = asked->selection->peak_ns;
	if (process->end_kind == TAPE_END_UNKNOWN || process->end_kind == TAPE_END_RUNNING)
		return NULL;
	program_end_add(&end, process);
	answer->end = arena_strdup(asked->arena, str_text(&end));
	return answer->end ? NULL : err_nomem();
}

static uint64_t rss_last(const struct shape_rows *timeline)
{
	const struct timeline_step *steps = timeline->items;

	return timeline->count > 0 ? steps[timeline->count - 1].rss_bytes : SHAPE_NONE;
}

static struct err *ask(const struct asked *asked, void *result)
{
	const uint64_t until_ns = end_ns(asked->model);
	const uint64_t from_ns = begin_ns(asked->model, until_ns, last_ns(asked->with));
	struct window window = { .asked = asked, .seconds = (double)(until_ns - from_ns) / 1e9 };
	struct now_answer *answer = result;
	struct err *err = span_find(asked->model, asked->selection, from_ns, until_ns, asked->arena,
				    &window.span);

	if (!err)
		err = sites_fill(&window, answer);
	if (!err)
		err = timeline_steps(asked, from_ns, until_ns,
				     asked->with->points ? asked->with->points : POINTS_DEFAULT,
				     &answer->timeline);
	if (!err)
		err = process_fill(asked, answer);
	if (err)
		return err;
	answer->from_ns = from_ns;
	answer->duration_ns = until_ns;
	answer->total = rates_of(&window, &window.span.total);
	answer->rss_bytes = rss_last(&answer->timeline);
	answer->order = (enum now_order)asked->sort;
	answer->sort = now_orders[asked->sort];
	return quality_find(asked, &answer->quality);
}

const struct question question_now = {
	.name = "now",
	.summary = "what is alive at the end of the tape, how it grows, and the rate of allocation",
	.shape = &shape_now,
	.depth = MODEL_FULL,
	.takes = TAKES(top) | TAKES(points) | TAKES(last),
	.selects = true,
	.ignores_leaks = true,
	.sorts = now_orders,
	.check = check,
	.ask = ask,
};
