#include "model/clock.h"

#include "base/sort.h"

/* Cycles per nanosecond of a processor nobody asked: only for tapes that end within their first
 * moment, before a second reading was taken. */
static const double GUESSED_GHZ = 2.5;

void clock_init(struct clock *clock, const struct tape_header *header)
{
	*clock = (struct clock) { .start_ticks = header->start_ticks,
				  .start_ns = header->start_monotonic_ns };
}

void clock_deinit(struct clock *clock)
{
	clock_points_deinit(&clock->points);
}

bool clock_add(struct clock *clock, const struct tape_header *header,
	       const struct tape_clock_pair *pair)
{
	const struct clock_point point = { pair->raw_ticks >> header->tick_shift,
					   pair->monotonic_ns };

	return clock_points_push(&clock->points, point);
}

static int compare_points(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct clock_point *)a)->ticks,
				((const struct clock_point *)b)->ticks);
}

/* Drops points that do not rise: two readings in one tick, or a tape that lies. */
static void drop_unsound(struct clock_points *points)
{
	size_t kept = 0;

	for (size_t i = 0; i < points->count; i++) {
		const struct clock_point *before = kept ? &points->items[kept - 1] : NULL;

		if (!before ||
		    (points->items[i].ticks > before->ticks && points->items[i].ns > before->ns))
			points->items[kept++] = points->items[i];
	}
	points->count = kept;
}

bool clock_seal(struct clock *clock, const struct tape_header *header)
{
	struct clock_points *points = &clock->points;
	double tick_ns = (double)(UINT64_C(1) << header->tick_shift);

	if (header->clock == TAPE_CLOCK_MONOTONIC) {
		points->count = 0;
		clock->slope = tick_ns;
		return true;
	}
	if (!clock_points_push(points, (struct clock_point) { header->start_ticks,
							      header->start_monotonic_ns }) ||
	    !sort_stable(points->items, points->count, sizeof(*points->items), compare_points,
			 NULL))
		return false;
	drop_unsound(points);
	clock->is_estimated = points->count < 2;
	clock->slope = tick_ns / GUESSED_GHZ;
	if (points->count >= 2) {
		const struct clock_point *first = points->items;
		const struct clock_point *last = &points->items[points->count - 1];

		clock->slope =
			(double)(last->ns - first->ns) / (double)(last->ticks - first->ticks);
	}
	return true;
}

static uint64_t saturated(double ns)
{
	if (!(ns > 0))
		return 0;
	return ns < 0x1p62 ? (uint64_t)ns : UINT64_C(1) << 62;
}

/* From the point on by the slope; never before the beginning. */
static uint64_t beyond(const struct clock *clock, const struct clock_point *point, uint64_t ticks)
{
	double ns = (double)(int64_t)(point->ns - clock->start_ns) +
		    (double)(int64_t)(ticks - point->ticks) * clock->slope;

	return saturated(ns);
}

static size_t point_before(const struct clock_points *points, uint64_t ticks, size_t hint)
{
	size_t low = 0, high = points->count;

	if (hint + 1 < points->count && points->items[hint].ticks <= ticks &&
	    ticks < points->items[hint + 1].ticks)
		return hint;
	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		if (points->items[middle].ticks <= ticks)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint64_t clock_ns_hinted(const struct clock *clock, uint64_t ticks, size_t *hint)
{
	const struct clock_points *points = &clock->points;
	const struct clock_point start = { clock->start_ticks, clock->start_ns };
	const struct clock_point *point;
	double part;
	size_t at;

	if (points->count == 0)
		return beyond(clock, &start, ticks);
	at = *hint = point_before(points, ticks, *hint);
	point = &points->items[at];
	if (ticks < point->ticks || at + 1 == points->count)
		return beyond(clock, point, ticks);
	part = (double)(ticks - point->ticks) / (double)(point[1].ticks - point->ticks);
	return saturated((double)(int64_t)(point->ns - clock->start_ns) +
			 part * (double)(point[1].ns - point->ns));
}

uint64_t clock_ns(const struct clock *clock, uint64_t ticks)
{
	size_t hint = 0;

	return clock_ns_hinted(clock, ticks, &hint);
}
