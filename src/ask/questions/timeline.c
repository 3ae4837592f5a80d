/*
 * timeline: live and resident bytes over time, in equal spans.
 */
#include "questions/timeline.h"

#include <assert.h>

#include "questions/questions.h"
#include "time/spans.h"

static const struct member step_members[] = {
	MEMBER(struct timeline_step, begin_ns, NS, NULL),
	MEMBER(struct timeline_step, live_bytes_max, BYTES, "most bytes alive in it"),
	MEMBER(struct timeline_step, live_bytes_end, BYTES, "alive at its end"),
	MEMBER(struct timeline_step, live_count_end, COUNT, "blocks alive at its end"),
	MEMBER(struct timeline_step, allocated_count, COUNT, "allocations in it"),
	MEMBER(struct timeline_step, allocated_bytes, BYTES, "of these allocations"),
	MEMBER(struct timeline_step, free_count, COUNT, NULL),
	MEMBER(struct timeline_step, rss_bytes, BYTES,
	       "resident, by the newest sample until its end", .nullable = true),
};
const struct shape shape_timeline_step = SHAPE("TimelineStep", struct timeline_step, step_members);

static const struct member timeline_members[] = {
	MEMBER(struct timeline_answer, timeline, ROWS, "equal spans of the time",
	       .shape = &shape_timeline_step),
	MEMBER(struct timeline_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_timeline =
	SHAPE("Timeline", struct timeline_answer, timeline_members);

/* A part of the run, in steps. */
struct steps {
	const struct model_timeline_span *items;
	size_t count;
	uint64_t end_ns;
};

/* Joins the model's spans into `count` steps. */
static struct err *steps_join(const struct asked *asked, size_t count, struct steps *steps_ret)
{
	const struct model *model = asked->model;
	const struct model_timeline_span *spans = model_timeline(model);
	const size_t span_count = model_timeline_count(model);
	struct model_timeline_span *steps = arena_array(asked->arena, count, sizeof(*steps));

	if (!steps)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const size_t end = (i + 1) * span_count / count;
		size_t at = i * span_count / count;

		steps[i] = spans[at];
		for (at++; at < end; at++) {
			steps[i].live_bytes_max =
				u64_max(steps[i].live_bytes_max, spans[at].live_bytes_max);
			steps[i].live_bytes_end = spans[at].live_bytes_end;
			steps[i].live_count_end = spans[at].live_count_end;
			steps[i].allocated.count += spans[at].allocated.count;
			steps[i].allocated.bytes += spans[at].allocated.bytes;
			steps[i].free_count += spans[at].free_count;
		}
	}
	*steps_ret = (struct steps) { steps, count, model_process(model)->duration_ns };
	return NULL;
}

static bool needs_rows(const struct parameters *with)
{
	return with->from || with->until || with->points > MODEL_TIMELINE_MAX / 2;
}

/* From the rows, exactly. from_ns <= until_ns. */
static struct err *steps_count(const struct asked *asked, uint64_t from_ns, uint64_t until_ns,
			       uint64_t count, struct steps *steps_ret)
{
	struct model_timeline_span *steps;
	struct err *err = NULL;

	until_ns++; /* events at the end time are included */
	count = u64_min(count, until_ns - from_ns);
	steps = arena_array(asked->arena, count, sizeof(*steps));
	if (!steps)
		return err_nomem();
	if (selection_is_all(asked->selection))
		model_timeline_window(asked->model, from_ns, until_ns, count, steps);
	else
		err = spans_find(asked->selection, from_ns, until_ns, count, steps);
	if (err)
		return err;
	*steps_ret = (struct steps) { steps, count, until_ns };
	return NULL;
}

static struct err *steps_find(const struct asked *asked, uint64_t count, struct steps *steps_ret)
{
	uint64_t from_ns = 0, until_ns = 0;
	struct err *err;

	if (selection_is_all(asked->selection) && !needs_rows(asked->with))
		return steps_join(asked, u64_min(count, model_timeline_count(asked->model)),
				  steps_ret);
	err = asked_range(asked, &from_ns, &until_ns);
	if (err)
		return err;
	if (from_ns >= until_ns)
		return err_new(ERR_USAGE, "--from is not before --until");
	return steps_count(asked, from_ns, until_ns, count, steps_ret);
}

/* --- */

static uint64_t rss_until(const struct model *model, uint64_t ns, size_t *at, uint64_t rss)
{
	for (; *at < model_usage_count(model) && model_usages(model)[*at].ns <= ns; ++*at) {
		if (model_usages(model)[*at].usage.rss_bytes != UINT64_MAX)
			rss = model_usages(model)[*at].usage.rss_bytes;
	}
	return rss;
}

static struct err *rows_fill(const struct asked *asked, const struct steps *steps,
			     struct shape_rows *rows)
{
	struct timeline_step *items = arena_array(asked->arena, steps->count + 1, sizeof(*items));
	uint64_t rss = SHAPE_NONE;
	size_t usage_at = 0;

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < steps->count; i++) {
		const struct model_timeline_span *step = &steps->items[i];
		const uint64_t end_ns =
			i + 1 < steps->count ? steps->items[i + 1].begin_ns : steps->end_ns;

		rss = rss_until(asked->model, end_ns, &usage_at, rss);
		items[i] = (struct timeline_step) {
			.begin_ns = step->begin_ns,
			.live_bytes_max = step->live_bytes_max,
			.live_bytes_end = step->live_bytes_end,
			.live_count_end = step->live_count_end,
			.allocated_count = step->allocated.count,
			.allocated_bytes = step->allocated.bytes,
			.free_count = step->free_count,
			.rss_bytes = rss,
		};
	}
	*rows = (struct shape_rows) { items, steps->count };
	return NULL;
}

struct err *timeline_steps(const struct asked *asked, uint64_t from_ns, uint64_t until_ns,
			   uint64_t count, struct shape_rows *rows)
{
	struct steps steps = { 0 };
	struct err *err = steps_count(asked, from_ns, until_ns, count, &steps);

	assert(from_ns <= until_ns);
	return err ? err : rows_fill(asked, &steps, rows);
}

static struct err *ask(const struct asked *asked, void *result)
{
	const struct parameters *with = asked->with;
	struct timeline_answer *timeline = result;
	struct steps steps = { 0 };
	struct err *err = steps_find(asked,
				     with->points ? with->points
				     : with->top  ? with->top
						  : MODEL_TIMELINE_MAX,
				     &steps);

	if (!err)
		err = rows_fill(asked, &steps, &timeline->timeline);
	return err ? err : quality_find(asked, &timeline->quality);
}

const struct question question_timeline = {
	.name = "timeline",
	.summary = "live and resident bytes over time",
	.shape = &shape_timeline,
	.depth = MODEL_SUMMARY,
	.takes = TAKES(points) | TAKES(top),
	.selects = true,
	.has_window = true,
	.ignores_leaks = true,
	.needs_rows = needs_rows,
	.ask = ask,
};
