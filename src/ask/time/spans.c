#include "time/spans.h"

#include <assert.h>

#include "base/number.h"
#include "select/playback.h"
#include "sums/sweep.h"

/*
 * Parts of the time are processed in parallel, each starting from this assumed amount of live
 * memory: more than can be freed in the part, and small enough not to overflow.
 */
static const uint64_t LIVE_BASE = UINT64_C(1) << 62;

enum { PARTS_A_WORKER = 4 };

struct sweep {
	struct playback *playback;
	uint64_t live_bytes;
	uint64_t live_count;
};

static void sweep_span(struct sweep *sweep, uint64_t end_ns, struct model_timeline_span *span)
{
	const struct playback_lane *lane;

	span->live_bytes_max = sweep->live_bytes;
	while ((lane = playback_next(sweep->playback, end_ns))) {
		const uint64_t bytes = lane->bytes[playback_at(lane)];

		if (lane->is_frees) {
			sweep->live_bytes -= bytes;
			sweep->live_count--;
			span->free_count++;
			continue;
		}
		span->allocated.count++;
		span->allocated.bytes += bytes;
		sweep->live_bytes += bytes;
		sweep->live_count++;
		span->live_bytes_max = u64_max(span->live_bytes_max, sweep->live_bytes);
	}
	span->live_bytes_end = sweep->live_bytes;
	span->live_count_end = sweep->live_count;
}

struct job {
	uint64_t from_ns;
	uint64_t until_ns;
	size_t count;
	size_t part_count;
	struct model_timeline_span *spans;
};

struct worker {
	const struct job *job;
	struct playback *playback;
};

/* The start time of a span. */
static uint64_t boundary(const struct job *job, size_t index)
{
	const uint64_t whole_ns = job->until_ns - job->from_ns;

	return job->from_ns + u64_mul_div(whole_ns, index, job->count);
}

/* The first span of a part. */
static size_t part_first(const struct job *job, uint64_t part)
{
	return job->count * part / job->part_count;
}

static struct err *part_sweep(void *context, uint64_t part)
{
	const struct worker *worker = context;
	const struct job *job = worker->job;
	const size_t first = part_first(job, part), end = part_first(job, part + 1);
	struct sweep sweep = { worker->playback, LIVE_BASE, LIVE_BASE };

	playback_between(sweep.playback, boundary(job, first), boundary(job, end));
	for (size_t i = first; i < end; i++) {
		job->spans[i] = (struct model_timeline_span) { .begin_ns = boundary(job, i) };
		sweep_span(&sweep, boundary(job, i + 1), &job->spans[i]);
	}
	return NULL;
}

static struct err *parts_sweep(const struct selection *selection, struct job *job)
{
	const size_t count = sweep_workers(&selection->limits, job->count);
	struct worker workers[SWEEP_WORKERS_MAX];
	struct err *err = NULL;

	job->part_count = u64_min(job->count, count * PARTS_A_WORKER);
	for (size_t i = 0; i < count; i++) {
		workers[i].job = job;
		workers[i].playback = playback_create(selection->model, selection);
		if (!workers[i].playback)
			err = err_nomem();
	}
	if (!err)
		err = sweep_run(&selection->limits, job->part_count, part_sweep, workers,
				sizeof(*workers), count);
	for (size_t i = 0; i < count; i++)
		playback_destroy(workers[i].playback);
	return err;
}

/* Replaces the assumed initial live memory of each part by the actual one. */
static void parts_join(const struct job *job, struct model_sum live)
{
	for (uint64_t part = 0; part < job->part_count; part++) {
		const size_t end = part_first(job, part + 1);

		for (size_t i = part_first(job, part); i < end; i++) {
			struct model_timeline_span *span = &job->spans[i];

			span->live_bytes_max += live.bytes - LIVE_BASE;
			span->live_bytes_end += live.bytes - LIVE_BASE;
			span->live_count_end += live.count - LIVE_BASE;
		}
		live = (struct model_sum) { job->spans[end - 1].live_count_end,
					    job->spans[end - 1].live_bytes_end };
	}
}

/* Blocks allocated before a moment and freed then or later. */
static struct err *live_before(const struct selection *selection, uint64_t ns,
			       struct model_sum *live)
{
	struct pass pass = pass_begin_between(selection->model, selection, 0, ns - 1);
	uint64_t ends[MODEL_BATCH], sizes[MODEL_BATCH];
	struct err *err = NULL;

	while (!err && pass_next(&pass)) {
		pass_read(&pass, MODEL_FREE_NS, ends);
		pass_read(&pass, MODEL_SIZE, sizes);
		for (size_t i = 0; i < pass.count; i++) {
			live->count += ends[i] >= ns;
			live->bytes += ends[i] >= ns ? sizes[i] : 0;
		}
		err = sweep_check(&selection->limits);
	}
	return err;
}

struct err *spans_find(const struct selection *selection, uint64_t from_ns, uint64_t until_ns,
		       size_t count, struct model_timeline_span *spans)
{
	struct job job = {
		.from_ns = from_ns, .until_ns = until_ns, .count = count, .spans = spans
	};
	struct model_sum before = { 0 };
	struct err *err = NULL;

	assert(from_ns <= until_ns);
	assert(count > 0);
	if (selection_is_all(selection)) { /* the index has sums for this */
		model_timeline_window(selection->model, from_ns, until_ns, count, spans);
		return NULL;
	}
	if (from_ns > selection->from_ns)
		err = live_before(selection, from_ns, &before);
	if (!err)
		err = parts_sweep(selection, &job);
	if (!err)
		parts_join(&job, before);
	return err;
}
