/*
 * grown: how the live bytes of functions went, judged by findings/pattern.h, for what asks about leaks.
 */
#include <math.h>

#include "base/number.h"
#include "base/sort.h"
#include "findings/pattern.h"
#include "groups/group_filter.h"
#include "model/import.h"
#include "questions/groups.h"
#include "questions/leaks.h"
#include "time/curves.h"

enum {
	CANDIDATES_MAX = CURVES_MAX, /* those with most bytes; more are small */
	SHOWN_POINTS = 24,	     /* of the course, in the answer */
	RATE_NS_MIN = 1000000000 /* a shorter course has no second of which a rate could be said */
};

/* --- candidates ------------------------------------------------------------------------------- */

struct courses {
	const struct asked *asked;
	struct groups groups;
	uint64_t begin_ns, end_ns;
	uint64_t *values; /* COURSE_POINTS a group; NULL: without times */
	const struct group_filters *filters;
};

static uint64_t weight_of(const struct group *group)
{
	return u64_max(group->matched.sums.peak.bytes, group->matched.sums.leaked.bytes);
}

static struct err *candidates_find(struct courses *courses)
{
	const struct asked *asked = courses->asked;
	const struct group_settings settings = { .by = GROUP_BY_FUNCTION, .mode = asked->mode };
	CLEAN(free) struct sort_pair *order = NULL;
	struct groups *groups = &courses->groups, all;
	struct err *err = groups_find(asked->selection, &settings, asked->arena, &all);
	size_t count = 0;

	if (err)
		return err;
	order = calloc(all.count + 1, sizeof(*order));
	if (!order)
		return err_nomem();
	for (size_t i = 0; i < all.count; i++)
		if (weight_of(&all.items[i]) > 0)
			order[count++] =
				(struct sort_pair) { ~weight_of(&all.items[i]), (uint32_t)i };
	if (!sort_pairs(order, count))
		return err_nomem();
	*groups = all;
	groups->count = u64_min(count, CANDIDATES_MAX);
	groups->items = arena_array(asked->arena, groups->count + 1, sizeof(*groups->items));
	if (!groups->items)
		return err_nomem();
	for (size_t i = 0; i < groups->count; i++)
		groups->items[i] = all.items[order[i].index];
	return NULL;
}

static struct err *courses_find(struct courses *courses)
{
	const struct asked *asked = courses->asked;
	struct err *err = asked_range(asked, &courses->begin_ns, &courses->end_ns);

	if (!err)
		err = candidates_find(courses);
	if (!err)
		err = group_filters_make(asked->selection, &courses->groups, asked->arena,
					 &courses->filters);
	if (err || model_missing(asked->model) & TAPE_MISSING_TIMES ||
	    courses->end_ns <= courses->begin_ns || courses->groups.count == 0)
		return err;
	courses->values = arena_array(asked->arena, courses->groups.count * COURSE_POINTS,
				      sizeof(*courses->values));
	if (!courses->values)
		return err_nomem();
	return curves_find(asked->selection, &courses->groups, asked->mode, courses->begin_ns,
			   courses->end_ns, COURSE_POINTS, asked->arena, courses->values);
}

/* --- patterns --------------------------------------------------------------------------------- */

static struct course_judged judge(const struct courses *courses, const struct group *group,
				  const uint64_t *values)
{
	const struct course course = {
		.values = values,
		.begin_ns = courses->begin_ns,
		.end_ns = courses->end_ns,
		.first_ns = group->matched.first_ns,
		.last_ns = group->matched.last_ns,
		.allocated_count = group->matched.sums.allocated.count,
		.kept_count = group->matched.sums.leaked.count,
		.has_ended = !model_goes_on(courses->asked->model) &&
			     courses->end_ns >= model_process(courses->asked->model)->duration_ns,
	};

	return course_judge(&course);
}

static void evidence_add(struct str *out, const struct courses *courses,
			 const struct growth_row *row, const struct course_judged *judged)
{
	switch (row->kind) {
	case PATTERN_GROWING:
		str_add_iec(out, isnan(row->rate_bytes) ? judged->growth.grown
							: u64_of_double(fmax(row->rate_bytes, 0)));
		str_add(out, isnan(row->rate_bytes) ? " more from " : " more every second from ");
		str_add_duration(out, row->first_ns);
		str_add(out, " on (R² ");
		str_add_double(out, row->r2, 3);
		str_add(out, ")");
		break;
	case PATTERN_UNSTEADY:
		str_add_iec(out, row->live_bytes);
		str_add(out, " alive at the end, without a steady direction (R² ");
		str_add_double(out, isnan(row->r2) ? 0 : row->r2, 3);
		str_add(out, ")");
		break;
	case PATTERN_LEVELLED_OFF:
		str_add_iec(out, judged->growth.grown);
		str_add(out, " came after ");
		str_add_duration(out, row->first_ns);
		str_add(out, ", nearly nothing in the last quarter");
		break;
	case PATTERN_BURST:
	case PATTERN_ONE_OFF:
		str_add(out, judged->is_at_once ? "all allocated within "
						: "nearly all of it early, the last after ");
		str_add_duration(out, row->last_ns - row->first_ns);
		str_add(out, ", ");
		str_add_duration(out, row->age_ns);
		str_add(out, " before the end");
		break;
	default:
		str_add(out, "the tape has no times");
		break;
	}
	str_add(out, "; ");
	str_add_percent(out, row->leaked_blocks, row->allocated_blocks);
	str_add(out, " of its ");
	str_add_counted(out, row->allocated_blocks, "allocation");
	if (model_goes_on(courses->asked->model))
		str_add(out,
			row->allocated_blocks == 1 ? " is not freed yet" : " are not freed yet");
	else
		str_add(out, row->allocated_blocks == 1 ? " was never freed" : " were never freed");
}

static void slope_set(const struct courses *courses, const struct growth *growth,
		      struct growth_row *row)
{
	const uint64_t course_ns = courses->end_ns - courses->begin_ns;

	if (row->kind != PATTERN_GROWING && row->kind != PATTERN_UNSTEADY)
		return;
	if (course_ns >= RATE_NS_MIN)
		row->rate_bytes = growth->fit.slope / ((double)course_ns / COURSE_POINTS / 1e9);
	row->r2 = growth->fit.r2;
}

static struct shape_numbers course_shown(const struct courses *courses, const uint64_t *values)
{
	uint64_t *shown = arena_array(courses->asked->arena, SHOWN_POINTS, sizeof(*shown));

	for (size_t i = 0; shown && i < SHOWN_POINTS; i++)
		shown[i] = values[(i + 1) * COURSE_POINTS / SHOWN_POINTS - 1];
	return (struct shape_numbers) { shown, shown ? SHOWN_POINTS : 0 };
}

static struct err *row_fill(const struct courses *courses, size_t i, struct growth_row *row)
{
	const struct asked *asked = courses->asked;
	const struct group *group = &courses->groups.items[i];
	const struct model_stack_sums *sums = &group->matched.sums;
	const uint64_t *values = courses->values ? courses->values + i * COURSE_POINTS : NULL;
	CLEAN(str_deinit) struct str evidence = { 0 };
	struct course_judged judged = { 0 };

	*row = (struct growth_row) {
		.kind = PATTERN_UNKNOWN,
		.place = place_of(asked->model, asked->names, group->site),
		.leaked_bytes = sums->leaked.bytes,
		.leaked_blocks = sums->leaked.count,
		.live_bytes = sums->leaked.bytes,
		.allocated_blocks = sums->allocated.count,
		.never_freed_share =
			(double)sums->leaked.count / (double)u64_max(1, sums->allocated.count),
		.rate_bytes = NAN,
		.r2 = NAN,
		.first_ns = group->matched.first_ns,
		.last_ns = group->matched.last_ns,
		.age_ns = courses->end_ns > group->matched.first_ns
				  ? courses->end_ns - group->matched.first_ns
				  : 0,
		.filter = group_filter(courses->filters, i, asked->arena),
		.stack = group->stack,
	};
	if (values) {
		judged = judge(courses, group, values);
		row->kind = judged.pattern;
		row->live_bytes = values[judged.last];
		slope_set(courses, &judged.growth, row);
		row->course = course_shown(courses, values);
	}
	row->pattern = growth_pattern_words[row->kind];
	row->shown_bytes = row->kind == PATTERN_GROWING
				   ? u64_max(row->leaked_bytes, row->live_bytes)
				   : row->leaked_bytes;
	evidence_add(&evidence, courses, row, &judged);
	row->evidence = arena_strdup(asked->arena, str_text(&evidence));
	return row->evidence ? NULL : err_nomem();
}

struct err *grown_find(const struct asked *asked, struct grown *grown_ret)
{
	struct courses courses = { .asked = asked };
	struct err *err = courses_find(&courses);
	struct growth_row *rows;

	if (err)
		return err;
	rows = arena_array(asked->arena, courses.groups.count + 1, sizeof(*rows));
	if (!rows)
		return err_nomem();
	for (size_t i = 0; i < courses.groups.count && !err; i++)
		err = row_fill(&courses, i, &rows[i]);
	*grown_ret =
		(struct grown) { rows, courses.groups.count, courses.begin_ns, courses.end_ns };
	return err;
}
