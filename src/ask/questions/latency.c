#include "questions/latency.h"

#include "answer/note.h"
#include "groups/call_times.h"
#include "questions/questions.h"

enum { SLOWEST_USUAL = 100 };

struct latency_bucket {
	uint64_t min_ns, max_ns, count;
};

static const struct member time_members[] = {
	MEMBER(struct call_time, calls, COUNT, NULL),
	MEMBER(struct call_time, total_ns, NS, "all together"),
	MEMBER(struct call_time, mean_ns, NS, NULL),
	MEMBER(struct call_time, max_ns, NS, NULL),
};
static const struct shape shape_time = SHAPE("CallTime", struct call_time, time_members);

static const struct member spread_members[] = {
	MEMBER(struct call_spread, time, FLAT, NULL, .shape = &shape_time),
	MEMBER(struct call_spread, p50_ns, NS, "half took at most so long"),
	MEMBER(struct call_spread, p90_ns, NS, "90 %"),
	MEMBER(struct call_spread, p99_ns, NS, "99 %"),
};
static const struct shape shape_spread = SHAPE("CallSpread", struct call_spread, spread_members);

static const struct member bucket_members[] = {
	MEMBER(struct latency_bucket, min_ns, NS, NULL),
	MEMBER(struct latency_bucket, max_ns, NS, NULL),
	MEMBER(struct latency_bucket, count, COUNT, "calls"),
};
static const struct shape shape_bucket =
	SHAPE("LatencyBucket", struct latency_bucket, bucket_members);

static const struct member function_members[] = {
	MEMBER(struct timed_function, call, TEXT, "malloc, free, ..."),
	MEMBER(struct timed_function, spread, FLAT, NULL, .shape = &shape_spread),
	MEMBER(struct timed_function, histogram, ROWS, "times that a call took",
	       .shape = &shape_bucket, .is_data = true),
};
static const struct shape shape_function =
	SHAPE("TimedFunction", struct timed_function, function_members);

static const struct member slowest_members[] = {
	MEMBER(struct slowest_call, latency_ns, NS, "how long it took"),
	MEMBER(struct slowest_call, time_ns, NS,
	       "when a free was called, or when an allocation returned"),
	MEMBER(struct slowest_call, call, TEXT, "malloc, free, ..."),
	MEMBER(struct slowest_call, is_free, FLAG, NULL),
	MEMBER(struct slowest_call, allocation, PLAIN, "id of the allocation"),
	MEMBER(struct slowest_call, size, BYTES, NULL),
	MEMBER(struct slowest_call, thread, PLAIN, "id of the thread that called",
	       .nullable = true),
	MEMBER(struct slowest_call, stack, FRAMES, "of the call"),
};
static const struct shape shape_slowest =
	SHAPE("SlowestCall", struct slowest_call, slowest_members);

static const struct member site_members[] = {
	MEMBER(struct timed_site, place, FLAT, NULL, .shape = &shape_place),
	MEMBER(struct timed_site, time, FLAT, NULL, .shape = &shape_time),
	MEMBER(struct timed_site, share, SHARE, "of the time of all calls"),
	MEMBER(struct timed_site, stack, FRAMES, "the stack with most time"),
};
static const struct shape shape_site = SHAPE("TimedSite", struct timed_site, site_members);

static const struct member latency_members[] = {
	MEMBER(struct latency_answer, total, FLAT, NULL, .shape = &shape_spread),
	MEMBER(struct latency_answer, functions, ROWS, "of the allocator",
	       .shape = &shape_function),
	MEMBER(struct latency_answer, slowest, ROWS, "calls, the slowest first",
	       .shape = &shape_slowest),
	MEMBER(struct latency_answer, sort, TEXT, "what sites are sorted by"),
	MEMBER(struct latency_answer, sites, ROWS, "functions that call the allocator",
	       .shape = &shape_site),
	MEMBER(struct latency_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_latency = SHAPE("Latency", struct latency_answer, latency_members);

static struct call_time time_of(uint64_t calls, uint64_t total_ns, uint64_t max_ns)
{
	return (struct call_time) { calls, total_ns, calls ? total_ns / calls : 0, max_ns };
}

static struct call_spread spread_of(const struct model_latency *latency)
{
	return (struct call_spread) {
		.time = time_of(latency->count, latency->total_ns, latency->max_ns),
		.p50_ns = latency_percentile(latency, 50),
		.p90_ns = latency_percentile(latency, 90),
		.p99_ns = latency_percentile(latency, 99),
	};
}

static struct err *histogram_fill(const struct model_latency *latency, struct arena *arena,
				  struct shape_rows *rows)
{
	struct latency_bucket *items = arena_array(arena, MODEL_LATENCY_BUCKETS, sizeof(*items));
	size_t count = 0;

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < MODEL_LATENCY_BUCKETS; i++)
		if (latency->buckets[i] > 0)
			items[count++] = (struct latency_bucket) {
				.min_ns = latency_bucket_begin(i),
				.max_ns = latency_bucket_begin(i + 1) - 1,
				.count = latency->buckets[i],
			};
	*rows = (struct shape_rows) { .items = items, .count = count };
	return NULL;
}

static struct err *functions_fill(const struct call_times *times, struct arena *arena,
				  struct shape_rows *rows)
{
	struct timed_function *items = arena_array(arena, TAPE_FN_COUNT, sizeof(*items));
	struct err *err = items ? NULL : err_nomem();
	size_t count = 0;

	for (unsigned fn = 0; fn < TAPE_FN_COUNT && !err; fn++) {
		const struct model_latency *latency = &times->functions[fn];

		if (latency->count == 0)
			continue;
		items[count].call = tape_fn_name((enum tape_fn)fn);
		items[count].spread = spread_of(latency);
		err = histogram_fill(latency, arena, &items[count++].histogram);
	}
	*rows = (struct shape_rows) { .items = items, .count = count };
	return err;
}

static struct err *slowest_fill(const struct asked *asked, const struct call_times *times,
				struct shape_rows *rows)
{
	struct slowest_call *items =
		arena_array(asked->arena, times->slowest_count + 1, sizeof(*items));

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < times->slowest_count; i++) {
		const struct slow_call *call = &times->slowest[i];

		items[i] = (struct slowest_call) {
			.latency_ns = call->ns,
			.time_ns = call->event_ns,
			.call = tape_fn_name((enum tape_fn)call->fn),
			.is_free = call->is_free,
			.allocation = call->row,
			.size = call->size,
			.thread = note_tid(asked->model, call->thread),
			.stack = call->stack,
		};
	}
	*rows = (struct shape_rows) { .items = items, .count = times->slowest_count };
	return NULL;
}

static struct err *sites_fill(const struct asked *asked, const struct call_times *times,
			      struct shape_rows *rows)
{
	const size_t count =
		asked->with->top ? u64_min(times->site_count, asked->with->top) : times->site_count;
	struct timed_site *items = arena_array(asked->arena, count + 1, sizeof(*items));

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const struct call_site *site = &times->sites[i];

		items[i] = (struct timed_site) {
			.place = place_of_stack(asked, site->stack),
			.time = time_of(site->sum.count, site->sum.total_ns, site->sum.max_ns),
			.share = { site->sum.total_ns, times->total.total_ns },
			.stack = site->stack,
		};
	}
	*rows = (struct shape_rows) { .items = items, .count = count };
	return NULL;
}

static struct err *ask(const struct asked *asked, void *result)
{
	const struct call_times_settings settings = {
		.order = (enum call_times_order)asked->sort,
		.mode = asked->mode,
		.slowest_max = asked->with->top ? asked->with->top : SLOWEST_USUAL,
	};
	struct latency_answer *answer = result;
	struct call_times times;
	struct err *err =
		call_times_find(asked->selection, asked->names, &settings, asked->arena, &times);

	if (err)
		return err;
	answer->total = spread_of(&times.total);
	answer->sort = call_times_order_words[asked->sort];
	err = functions_fill(&times, asked->arena, &answer->functions);
	if (!err)
		err = slowest_fill(asked, &times, &answer->slowest);
	if (!err)
		err = sites_fill(asked, &times, &answer->sites);
	return err ? err : quality_find(asked, &answer->quality);
}

const struct question question_latency = {
	.name = "latency",
	.summary = "how long calls of the allocator took; record with --latency",
	.one_process = true,
	.shape = &shape_latency,
	.depth = MODEL_FULL,
	.takes = TAKES(top),
	.selects = true,
	.ignores_leaks = true,
	.sorts = call_times_order_words,
	.ask = ask,
};
