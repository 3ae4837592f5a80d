#include "findings/fit.h"

#include <assert.h>

#include "core/core.h"

/*
 * A good linear fit explains nearly all of the variance. The square root of time (a cache that
 * fills) still has 0.96, so the last quarter decides: it has 25 % of a line's growth, and 13 % to
 * 17 % of a square root's.
 */
static const double STEADY_R2_MIN = 0.95;

enum {
	VALUES_MIN = 16,       /* fewer say nothing */
	EARLY_SHARE = 10,      /* the first tenth of the run is build-up */
	BASE_PERCENT_MIN = 20, /* of the last value, early: twice what a line has there */
	GROWN_PERCENT_MIN = 1, /* of the last value, later: else build-up was all */
	LATE_PERCENT_MIN = 20, /* of the growth, in the last quarter */
	RISES_MIN = 8,	       /* fewer are steps, not a slope */
	KEPT_PERCENT = 90      /* of the maximum: it has not come down */
};

struct fit fit_line(const uint64_t *values, size_t count)
{
	const double middle = (double)(count ? count - 1 : 0) / 2;
	double mean = 0, xx = 0, xy = 0, yy = 0;
	struct fit fit;

	assert(values || count == 0);
	for (size_t i = 0; i < count; i++)
		mean += (double)values[i] / (double)count;
	for (size_t i = 0; i < count; i++) {
		const double x = (double)i - middle, y = (double)values[i] - mean;

		xx += x * x;
		xy += x * y;
		yy += y * y;
	}
	fit.slope = xx > 0 ? xy / xx : 0;
	fit.begin = mean - fit.slope * middle;
	fit.r2 = yy > 0 && xx > 0 ? xy * xy / (xx * yy) : 1;
	return fit;
}

static bool is_percent(uint64_t part, uint64_t whole, unsigned percent)
{
	return (double)part * 100 >= (double)whole * percent;
}

static uint64_t over(uint64_t value, uint64_t least)
{
	return value > least ? value - least : 0;
}

static enum growth_kind kind_of(const uint64_t *values, size_t count, const struct growth *growth)
{
	const uint64_t last = values[count - 1];
	const size_t quarter = (count - growth->begin) / 4;

	if (growth->begin > 0 && !is_percent(growth->grown, last, GROWN_PERCENT_MIN))
		return GROWTH_ONCE;
	if (growth->grown == 0)
		return GROWTH_NONE;
	if (!is_percent(over(last, values[count - 1 - quarter]), growth->grown, LATE_PERCENT_MIN))
		return GROWTH_PLATEAU;
	return growth->rises >= RISES_MIN && growth->fit.r2 >= STEADY_R2_MIN ? GROWTH_STEADY
									     : GROWTH_NONE;
}

struct growth growth_of(const uint64_t *values, size_t count)
{
	struct growth growth = { 0 };
	uint64_t last, most = 0;

	assert(values || count == 0);
	if (count < VALUES_MIN)
		return growth;
	last = values[count - 1];
	if (is_percent(values[count / EARLY_SHARE], last, BASE_PERCENT_MIN))
		growth.begin = last > 0 ? count / EARLY_SHARE : 0;
	for (size_t i = 0; i < count; i++) {
		most = u64_max(most, values[i]);
		growth.rises += i > growth.begin && values[i] > values[i - 1];
	}
	growth.fit = fit_line(values + growth.begin, count - growth.begin);
	growth.grown = over(last, values[growth.begin]);
	if (is_percent(last, most, KEPT_PERCENT))
		growth.kind = kind_of(values, count, &growth);
	return growth;
}
