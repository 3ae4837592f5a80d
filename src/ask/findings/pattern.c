#include "findings/pattern.h"

#include <assert.h>

#include "base/number.h"
#include "core/core.h"

enum {
	MOMENT_POINTS = 2,    /* allocated within these: not over time */
	BURST_BLOCKS = 1000,  /* more than initialisation */
	BURST_SHARE = 10,     /* within a tenth of the time, and over before its end */
	FEW_BLOCKS = 3,	      /* fewer have no course */
	STEPS_MIN = 3,	      /* fewer rises are no course */
	FALL_PERCENT_MAX = 2, /* of the growth: what comes and goes beside what stays */
	TORN_PERCENT = 10,    /* of the most, at the end: all was freed, or nearly */
	LATE_PERCENT = 12     /* of the growth, in the last quarter: a line has 25 */
};

static const double STEPS_R2_MIN = 0.8;

const char *const growth_pattern_words[] = {
	[PATTERN_GROWING] = "growing",
	[PATTERN_UNSTEADY] = "unsteady",
	[PATTERN_LEVELLED_OFF] = "levelled_off",
	[PATTERN_BURST] = "burst",
	[PATTERN_ONE_OFF] = "one_off",
	[PATTERN_UNKNOWN] = "unknown",
	NULL,
};

const char *const growth_pattern_titles[] = {
	[PATTERN_GROWING] = "Growing to the end",
	[PATTERN_UNSTEADY] = "Unsteady",
	[PATTERN_LEVELLED_OFF] = "Grew, then levelled off",
	[PATTERN_BURST] = "A burst that stays",
	[PATTERN_ONE_OFF] = "One-off",
	[PATTERN_UNKNOWN] = "Without times",
	NULL,
};

/* What hardly falls, in steps that lie near a line up to the end: requests that come in bursts. */
static bool rises_in_steps(const struct growth *growth, const uint64_t *values, size_t count)
{
	const uint64_t last = values[count - 1];
	const uint64_t before = values[count - 1 - (count - growth->begin) / 4];
	uint64_t most = 0;

	for (size_t i = 0; i < count; i++) {
		most = u64_max(most, values[i]);
		if ((double)(most - values[i]) * 100 > (double)growth->grown * FALL_PERCENT_MAX)
			return false;
	}
	return last > before && growth->rises >= STEPS_MIN && growth->fit.r2 >= STEPS_R2_MIN &&
	       (double)(last - before) * 100 >= (double)growth->grown * LATE_PERCENT;
}

static uint64_t points_ns(const struct course *course, unsigned points)
{
	return (course->end_ns - course->begin_ns) / COURSE_POINTS * points;
}

static bool is_in_a_moment(const struct course *course)
{
	return course->allocated_count < FEW_BLOCKS ||
	       course->last_ns - course->first_ns <= points_ns(course, MOMENT_POINTS);
}

static bool is_burst(const struct course *course)
{
	const uint64_t over_ns = course->end_ns - points_ns(course, COURSE_TEARDOWN);

	return course->kept_count >= BURST_BLOCKS && course->last_ns <= over_ns &&
	       course->last_ns - course->first_ns <=
		       (course->end_ns - course->begin_ns) / BURST_SHARE;
}

static enum growth_pattern pattern_of(const struct course *course, const struct growth *growth,
				      bool rises)
{
	const enum growth_pattern early =
		course->kept_count >= BURST_BLOCKS ? PATTERN_BURST : PATTERN_ONE_OFF;

	if (is_in_a_moment(course) || is_burst(course))
		return early;
	switch (growth->kind) {
	case GROWTH_STEADY:
		return PATTERN_GROWING;
	case GROWTH_PLATEAU:
		return rises ? PATTERN_GROWING : PATTERN_LEVELLED_OFF;
	case GROWTH_ONCE:
		return early;
	case GROWTH_NONE:
		break;
	}
	return rises ? PATTERN_GROWING : PATTERN_UNSTEADY;
}

static size_t first_point(const struct course *course)
{
	const double step = (double)(course->end_ns - course->begin_ns) / COURSE_POINTS;
	const uint64_t first_ns = u64_max(course->first_ns, course->begin_ns);

	return u64_min(u64_of_double((double)(first_ns - course->begin_ns) / step),
		       COURSE_POINTS - 1);
}

/*
 * The last point before the program freed what it had, which takes long where much is freed or the
 * machine is busy. What has stopped growing for longer than any program frees has stopped, and what
 * was freed long before the end was not freed because of it.
 */
static size_t last_point(const struct course *course)
{
	const size_t usual = COURSE_POINTS - 1 - COURSE_TEARDOWN;
	const size_t earliest = COURSE_POINTS - 1 - COURSE_TEARDOWN_MAX;
	const uint64_t *values = course->values;
	size_t begin = COURSE_POINTS - 1, last;
	uint64_t most = 0;

	for (size_t i = 0; i < COURSE_POINTS; i++)
		most = u64_max(most, values[i]);
	if (!course->has_ended || (double)values[begin] * 100 > (double)most * TORN_PERCENT)
		return usual;
	if (values[usual] == values[COURSE_POINTS - 1])
		return usual;
	while (begin > earliest && values[begin - 1] >= values[begin])
		begin--;
	last = begin;
	while (last < usual && values[last + 1] == values[last])
		last++;
	if (last == earliest)
		return usual;
	return u64_min(usual, last - u64_min(last - begin, COURSE_TEARDOWN));
}

struct course_judged course_judge(const struct course *course)
{
	struct course_judged judged = { .first = first_point(course), .last = last_point(course) };
	uint64_t from_nothing[COURSE_POINTS + 1] = { 0 };
	size_t count = 1;

	assert(course->values);
	assert(course->begin_ns < course->end_ns);
	assert(course->first_ns <= course->last_ns);
	for (size_t i = judged.first; i <= judged.last; i++)
		from_nothing[count++] = course->values[i];
	judged.growth = growth_of(from_nothing, count);
	judged.pattern = pattern_of(course, &judged.growth,
				    rises_in_steps(&judged.growth, from_nothing, count));
	judged.is_at_once = course->last_ns - course->first_ns <=
			    (course->end_ns - course->begin_ns) / BURST_SHARE;
	return judged;
}
