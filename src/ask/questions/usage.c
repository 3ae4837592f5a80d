/*
 * usage: samples of the process and of the system, joined in equal spans of time; spans without a
 * sample are left out.
 */
#include "questions/timeline.h"

#include <math.h>

#include "base/number.h"
#include "questions/questions.h"
#include "space/node_use.h"
#include "questions/threads.h"
#include "verdict/shortage.h"

enum { STEPS = 1000, HUNDREDTHS = 100, NS_PER_US = 1000 };

#define STEP(field, kind, doc, ...)                                                                \
	MEMBER(struct usage_step, field, kind, doc, .nullable = true __VA_OPT__(, ) __VA_ARGS__)

static const struct member step_members[] = {
	MEMBER(struct usage_step, ns, NS, "begin of the span", .title = "time"),
	STEP(rss, BYTES, "resident, at most"),
	STEP(pss, BYTES, "the same, with what is shared divided by its users"),
	STEP(swapped, BYTES, "of the process, swapped out"),
	STEP(address_space, BYTES, "mapped"),
	STEP(shared, BYTES, "resident, and shared or of files"),
	STEP(minor_faults, COUNT, "page faults of the process from memory, since the row before"),
	STEP(major_faults, COUNT, "from disk, since the row before"),
	STEP(memory, BYTES, "all memory of the machine"),
	STEP(available, BYTES, "of it, to be had without swapping, at the least"),
	STEP(used, BYTES, "of it, the rest"),
	STEP(swap, BYTES, "all swap of the machine"),
	STEP(swap_used, BYTES, "of it, used, at most"),
	STEP(swapped_in, BYTES, "by the machine, since the row before"),
	STEP(swapped_out, BYTES, "by the machine, since the row before"),
	STEP(system_major_faults, COUNT,
	     "page faults of the machine from disk, since the row before"),
	STEP(oom_kills, COUNT,
	     "processes of the machine killed for want of memory, since the row before"),
	STEP(some_avg10, RATIO,
	     "percent of the last 10 s in which something waited for memory, at most"),
	STEP(full_avg10, RATIO, "in which everything did"),
	STEP(some_ns, NS, "time in which something waited for memory, since the row before"),
	STEP(full_ns, NS, "in which everything did"),
	STEP(cgroup, BYTES, "used by the cgroup of the process, at most"),
	STEP(cgroup_working_set, BYTES, "the same without cache that is freed first"),
	STEP(cgroup_limit, BYTES, "what it may use"),
	STEP(cgroup_high, BYTES, "above it, it is slowed down"),
	STEP(cgroup_limit_hits, COUNT, "times that it was at its limit, since the row before"),
	STEP(cgroup_high_hits, COUNT, "times that it was slowed down, since the row before"),
	STEP(cgroup_ooms, COUNT, "times that nothing could be freed, since the row before"),
	STEP(cgroup_oom_kills, COUNT, "processes of it that were killed, since the row before"),
	STEP(cgroup_some_avg10, RATIO, "as some_avg10, of the cgroup"),
	STEP(cgroup_full_avg10, RATIO, "as full_avg10, of the cgroup"),
	STEP(cgroup_some_ns, NS, "as some_ns, of the cgroup"),
	STEP(cgroup_full_ns, NS, "as full_ns, of the cgroup"),
};
static const struct shape shape_step = SHAPE("UsageStep", struct usage_step, step_members);

static const struct member part_members[] = {
	MEMBER(struct usage_part, ns, NS, "begin of the span, as in `usage`", .title = "time"),
	MEMBER(struct usage_part, process, PLAIN, "its row in /processes, from 0"),
	MEMBER(struct usage_part, pid, PLAIN, NULL),
	MEMBER(struct usage_part, name, TEXT, "of its program", .left = true),
	MEMBER(struct usage_part, rss, BYTES, "resident, at most"),
	MEMBER(struct usage_part, pss, BYTES,
	       "the same, with what it shares divided among those that share it"),
	MEMBER(struct usage_part, private, BYTES, "the same, that nobody else has"),
};
static const struct shape shape_part = SHAPE("UsageOfProcess", struct usage_part, part_members);

static const struct member verdict_members[] = {
	MEMBER(struct usage_verdict, name, TEXT, "the name that memtape triage has for it"),
	MEMBER(struct usage_verdict, level, TEXT, "the worst of the recording",
	       .words = verdict_level_words),
	MEMBER(struct usage_verdict, answer, TEXT, "the figures then"),
	MEMBER(struct usage_verdict, time_ns, NS, "when it was first so bad", .nullable = true),
	MEMBER(struct usage_verdict, short_ns, NS, "time in which it was a warning or critical"),
	MEMBER(struct usage_verdict, matters, FLAG, "critical, or a warning for long enough"),
};
static const struct shape shape_verdict =
	SHAPE("UsageVerdict", struct usage_verdict, verdict_members);

static const struct member node_members[] = {
	MEMBER(struct usage_node, node, PLAIN, "its number"),
	MEMBER(struct usage_node, bytes, BYTES,
	       "of the process's memory on it, without files, at the last look"),
	MEMBER(struct usage_node, bytes_max, BYTES, "at most"),
	MEMBER(struct usage_node, cpu_ns, NS,
	       "processor time that the process's threads spent on it: an estimate"),
};
static const struct shape shape_node = SHAPE("UsageNode", struct usage_node, node_members);

static const struct member usage_members[] = {
	MEMBER(struct usage_answer, level, TEXT,
	       "the worst verdict that matters; null: the tape has no samples of the system",
	       .words = verdict_level_words, .nullable = true),
	MEMBER(struct usage_answer, cgroup, TEXT, "the cgroup of the process", .nullable = true),
	MEMBER(struct usage_answer, verdicts, ROWS, "of the whole recording",
	       .shape = &shape_verdict),
	MEMBER(struct usage_answer, usage, ROWS, "spans of the time that have a sample",
	       .shape = &shape_step, .is_table = true),
	MEMBER(struct usage_answer, nodes, ROWS,
	       "NUMA nodes, where there are several; else, or if they were not looked at, none",
	       .shape = &shape_node),
	MEMBER(struct usage_answer, processes, ROWS,
	       "of a session: the same spans by process, where one was measured",
	       .shape = &shape_part),
	MEMBER(struct usage_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_usage = SHAPE("Usage", struct usage_answer, usage_members);

/* The part of the time that is shown, and what was last known of each count. */
struct view {
	const struct asked *asked;
	uint64_t from_ns, until_ns; /* until: one behind the end */
	uint64_t count;		    /* of spans */
	struct usage_step *steps;
	bool *has_sample; /* by span */
	struct tape_usage usage;
	struct tape_system system;
	struct shortage_place place;
};

static size_t span_of(const struct view *view, uint64_t ns)
{
	return (size_t)u64_mul_div(ns - view->from_ns, view->count, view->until_ns - view->from_ns);
}

static uint64_t span_begin_ns(const struct view *view, size_t span)
{
	return view->from_ns + u64_mul_div(view->until_ns - view->from_ns, span, view->count);
}

/* --- values that may not be known ---------------------------------------------------------------- */

static void at_most(uint64_t *value, uint64_t sample)
{
	if (sample != UINT64_MAX && (*value == UINT64_MAX || sample > *value))
		*value = sample;
}

static void at_most_percent(double *value, uint64_t hundredths)
{
	const double percent = (double)hundredths / HUNDREDTHS;

	if (hundredths != UINT64_MAX && (isnan(*value) || percent > *value))
		*value = percent;
}

/* Adds what a count grew by, times a factor; what is not known leaves it. Returns the last count that is known. */
static uint64_t grow(uint64_t *value, uint64_t last, uint64_t sample, uint64_t factor)
{
	uint64_t grown = shortage_grown(last, sample);

	if (grown == UINT64_MAX || __builtin_mul_overflow(grown, factor, &grown))
		return sample == UINT64_MAX ? last : sample;
	if (*value == UINT64_MAX)
		*value = 0;
	if (__builtin_add_overflow(*value, grown, value))
		*value = UINT64_MAX;
	return sample;
}

static uint64_t known_minus(uint64_t from, uint64_t what)
{
	return from == UINT64_MAX || what == UINT64_MAX ? UINT64_MAX
	       : from > what				? from - what
							: 0;
}

/* --- samples ------------------------------------------------------------------------------------- */

static void take_usage(struct view *view, const struct tape_usage *sample, struct usage_step *step)
{
	at_most(&step->rss, sample->rss_bytes);
	at_most(&step->pss, sample->pss_bytes);
	at_most(&step->swapped, sample->swap_bytes);
	at_most(&step->address_space, sample->virtual_bytes);
	at_most(&step->shared, sample->shared_bytes);
	view->usage.minor_faults =
		grow(&step->minor_faults, view->usage.minor_faults, sample->minor_faults, 1);
	view->usage.major_faults =
		grow(&step->major_faults, view->usage.major_faults, sample->major_faults, 1);
}

static void take_machine(struct view *view, const struct tape_system *sample,
			 struct usage_step *step)
{
	struct tape_system *last = &view->system;

	step->memory = sample->memory_bytes;
	step->swap = sample->swap_bytes;
	step->available = u64_min(step->available, sample->available_bytes);
	step->used = known_minus(sample->memory_bytes, step->available);
	at_most(&step->swap_used, known_minus(sample->swap_bytes, sample->swap_free_bytes));
	last->swapped_in_bytes =
		grow(&step->swapped_in, last->swapped_in_bytes, sample->swapped_in_bytes, 1);
	last->swapped_out_bytes =
		grow(&step->swapped_out, last->swapped_out_bytes, sample->swapped_out_bytes, 1);
	last->major_faults =
		grow(&step->system_major_faults, last->major_faults, sample->major_faults, 1);
	last->oom_kills = grow(&step->oom_kills, last->oom_kills, sample->oom_kills, 1);
	at_most_percent(&step->some_avg10, sample->some_avg10);
	at_most_percent(&step->full_avg10, sample->full_avg10);
	last->some_us = grow(&step->some_ns, last->some_us, sample->some_us, NS_PER_US);
	last->full_us = grow(&step->full_ns, last->full_us, sample->full_us, NS_PER_US);
}

static void take_cgroup(struct view *view, const struct tape_system *sample,
			struct usage_step *step)
{
	struct tape_system *last = &view->system;

	at_most(&step->cgroup, sample->cgroup_bytes);
	at_most(&step->cgroup_working_set, shortage_working_set(sample));
	step->cgroup_limit = sample->cgroup_limit_bytes;
	step->cgroup_high = sample->cgroup_high_bytes;
	last->cgroup_limit_hits = grow(&step->cgroup_limit_hits, last->cgroup_limit_hits,
				       sample->cgroup_limit_hits, 1);
	last->cgroup_high_hits =
		grow(&step->cgroup_high_hits, last->cgroup_high_hits, sample->cgroup_high_hits, 1);
	last->cgroup_ooms = grow(&step->cgroup_ooms, last->cgroup_ooms, sample->cgroup_ooms, 1);
	last->cgroup_oom_kills =
		grow(&step->cgroup_oom_kills, last->cgroup_oom_kills, sample->cgroup_oom_kills, 1);
	at_most_percent(&step->cgroup_some_avg10, sample->cgroup_some_avg10);
	at_most_percent(&step->cgroup_full_avg10, sample->cgroup_full_avg10);
	last->cgroup_some_us = grow(&step->cgroup_some_ns, last->cgroup_some_us,
				    sample->cgroup_some_us, NS_PER_US);
	last->cgroup_full_us = grow(&step->cgroup_full_ns, last->cgroup_full_us,
				    sample->cgroup_full_us, NS_PER_US);
}

/* Counts of another cgroup are no growth. */
static void follow_cgroup(struct view *view, uint64_t ns)
{
	const size_t number = view->place.number;
	struct tape_system *last = &view->system;

	shortage_place_follow(&view->place, view->asked->model, ns);
	if (view->place.number != number)
		memset((uint8_t *)last + offsetof(struct tape_system, cgroup_bytes), 0xff,
		       sizeof(*last) - offsetof(struct tape_system, cgroup_bytes));
}

/* A sample from before the view is what growth begins with; one behind it is not looked at. */
static struct usage_step *step_at(struct view *view, uint64_t ns, struct usage_step *before)
{
	size_t span;

	if (ns >= view->until_ns)
		return NULL;
	if (ns < view->from_ns)
		return before;
	span = span_of(view, ns);
	view->has_sample[span] = true;
	return &view->steps[span];
}

static struct usage_step unknown_step(void)
{
	struct usage_step step;

	memset(&step, 0xff, sizeof(step));
	step.some_avg10 = step.full_avg10 = NAN;
	step.cgroup_some_avg10 = step.cgroup_full_avg10 = NAN;
	return step;
}

/* What was seen once the program had exited is of its end: kills in its cgroup are told then. */
static void samples_take(struct view *view)
{
	const struct model *model = view->asked->model;
	const uint64_t end_ns = model_process(model)->duration_ns;
	struct usage_step before = unknown_step(), *step;

	for (size_t i = 0; i < model_usage_count(model); i++) {
		const struct model_usage *sample = &model_usages(model)[i];

		step = step_at(view, sample->ns, &before);
		if (step)
			take_usage(view, &sample->usage, step);
	}
	for (size_t i = 0; i < model_system_count(model); i++) {
		const struct model_system *sample = &model_systems(model)[i];

		step = step_at(view, u64_min(sample->ns, end_ns), &before);
		if (!step)
			continue;
		follow_cgroup(view, sample->ns);
		take_machine(view, &sample->system, step);
		take_cgroup(view, &sample->system, step);
	}
}

static struct err *steps_fill(struct view *view, struct usage_answer *answer)
{
	struct arena *arena = view->asked->arena;
	size_t kept = 0;

	view->steps = arena_array(arena, view->count, sizeof(*view->steps));
	view->has_sample = arena_array(arena, view->count, sizeof(*view->has_sample));
	if (!view->steps || !view->has_sample)
		return err_nomem();
	memset(&view->usage, 0xff, sizeof(view->usage));
	memset(&view->system, 0xff, sizeof(view->system));
	for (size_t i = 0; i < view->count; i++)
		view->steps[i] = unknown_step();
	samples_take(view);
	for (size_t i = 0; i < view->count; i++) {
		if (!view->has_sample[i])
			continue;
		view->steps[kept] = view->steps[i];
		view->steps[kept++].ns = span_begin_ns(view, i);
	}
	answer->usage = (struct shape_rows) { view->steps, kept };
	return NULL;
}

/* --- processes of a session ------------------------------------------------------------------- */

/* The row of a process in this span; latest: of each process, its last row + 1. */
static struct usage_part *part_of(struct usage_part *parts, size_t *count, size_t *latest,
				  size_t process, uint64_t ns)
{
	if (*latest == 0 || parts[*latest - 1].ns != ns) {
		parts[*count] = (struct usage_part) { .ns = ns, .process = process };
		*latest = ++*count;
	}
	return &parts[*latest - 1];
}

static bool is_in_view(const struct view *view, const struct model_note *note)
{
	return note->type == TAPE_EXT_MEMBER_USAGE && note->ns >= view->from_ns &&
	       note->ns < view->until_ns;
}

static struct err *parts_fill(struct view *view, struct usage_answer *answer)
{
	struct arena *arena = view->asked->arena;
	const struct model_note *notes = model_notes(view->asked->model);
	const size_t note_count = model_note_count(view->asked->model);
	const uint64_t *numbers;
	struct shape_rows rows;
	struct usage_part *parts;
	size_t *latest, count = 0;
	struct err *err = process_rows_find(view->asked, &rows, &numbers);

	if (err)
		return err;
	for (size_t i = 0; i < note_count; i++)
		count += is_in_view(view, &notes[i]);
	parts = arena_array(arena, count + 1, sizeof(*parts));
	latest = arena_array(arena, rows.count + 1, sizeof(*latest));
	if (!parts || !latest)
		return err_nomem();
	memset(latest, 0, (rows.count + 1) * sizeof(*latest));
	count = 0;
	for (size_t i = 0; i < note_count; i++) {
		const struct tape_member_usage *usage = &notes[i].member_usage;
		struct usage_part *part;
		size_t at;

		if (!is_in_view(view, &notes[i]))
			continue;
		at = process_row_of(numbers, rows.count, usage->number);
		if (at == rows.count)
			continue;
		part = part_of(parts, &count, &latest[at], at,
			       span_begin_ns(view, span_of(view, notes[i].ns)));
		part->pid = ((const struct process_row *)rows.items)[at].pid;
		part->name = ((const struct process_row *)rows.items)[at].name;
		part->rss = u64_max(part->rss, usage->rss_bytes);
		part->pss = u64_max(part->pss, usage->pss_bytes);
		part->private = u64_max(part->private, usage->private_bytes);
	}
	answer->processes = (struct shape_rows) { parts, count };
	return NULL;
}

/* --- verdicts ------------------------------------------------------------------------------------ */

static struct err *verdicts_fill(const struct asked *asked, struct usage_answer *answer)
{
	struct usage_verdict *items = arena_array(asked->arena, SHORTAGE_KINDS, sizeof(*items));
	struct shortage_place place = { 0 };
	struct shortages shortages;
	struct err *err = shortages_find(asked->model, asked->arena, &shortages);

	if (err || !items)
		return err ? err : err_nomem();
	answer->verdicts = (struct shape_rows) { items, 0 };
	if (shortages.sample_count == 0)
		return NULL;
	for (size_t i = 0; i < SHORTAGE_KINDS; i++) {
		const struct shortage *shortage = &shortages.items[i];

		items[i] = (struct usage_verdict) { .name = shortage->name,
						    .level = verdict_level_words[shortage->level],
						    .answer = shortage->words,
						    .time_ns = shortage->ns,
						    .short_ns = shortage->short_ns,
						    .matters = shortage->is_worth };
	}
	answer->verdicts.count = SHORTAGE_KINDS;
	answer->level = verdict_level_words[shortages.level];
	shortage_place_follow(&place, asked->model, UINT64_MAX);
	answer->cgroup = *place.name ? place.name : NULL;
	return NULL;
}

/* --- nodes --------------------------------------------------------------------------------------- */

static struct err *nodes_fill(const struct view *view, struct usage_answer *answer)
{
	CLEAN(node_look_vec_deinit) struct node_look_vec looks = { 0 };
	struct usage_node *items = arena_array(view->asked->arena, NODE_USE_MAX, sizeof(*items));
	struct err *err = node_looks_find(view->asked->model, &looks);
	const struct node_look *before = NULL, *last = NULL;
	uint64_t most[NODE_USE_MAX] = { 0 };
	size_t count = 0;

	if (err || !items)
		return err ? err : err_nomem();
	for (size_t i = 0; i < looks.count && looks.items[i].ns < view->until_ns; i++) {
		if (looks.items[i].ns < view->from_ns) {
			before = &looks.items[i];
			continue;
		}
		last = &looks.items[i];
		for (unsigned node = 0; node < NODE_USE_MAX; node++)
			most[node] = u64_max(most[node], last->bytes[node]);
	}
	for (unsigned node = 0; node < NODE_USE_MAX && last; node++)
		if (last->set >> node & 1)
			items[count++] = (struct usage_node) {
				.node = node,
				.bytes = last->bytes[node],
				.bytes_max = most[node],
				.cpu_ns = last->cpu_ns[node] -
					  u64_min(before ? before->cpu_ns[node] : 0,
						  last->cpu_ns[node]),
			};
	answer->nodes = (struct shape_rows) { items, count };
	return NULL;
}

static struct err *ask(const struct asked *asked, void *result)
{
	const uint64_t points = asked->with->points ? asked->with->points : STEPS;
	struct usage_answer *answer = result;
	struct view view = { .asked = asked };
	struct err *err = asked_range(asked, &view.from_ns, &view.until_ns);

	if (err)
		return err;
	/* Samples at the end time are included. */
	view.until_ns = u64_min(view.until_ns, UINT64_MAX - 1) + 1;
	if (view.from_ns >= view.until_ns)
		return err_new(ERR_USAGE, "--from is not before --until");
	view.count = u64_min(points, view.until_ns - view.from_ns);
	err = steps_fill(&view, answer);
	if (!err)
		err = parts_fill(&view, answer);
	if (!err)
		err = verdicts_fill(asked, answer);
	if (!err)
		err = nodes_fill(&view, answer);
	return err ? err : quality_find(asked, &answer->quality);
}

const struct question question_usage = {
	.name = "usage",
	.summary = "memory of the process, or of all of a session, of its cgroup and the machine "
		   "over time",
	.shape = &shape_usage,
	.depth = MODEL_SUMMARY,
	.takes = TAKES(points),
	.has_window = true,
	.instead = "--from and --until choose by time",
	.ask = ask,
};
