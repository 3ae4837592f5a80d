#include "model/clock.h"

#include <assert.h>

/* A guess for the processor's cycles per nanosecond: only for tapes that end before a second clock
 * reading. */
static const double GUESSED_GHZ = 2.5;

bool clock_init(struct clock *clock, const struct tape_header *header)
{
	const struct clock_point start = { header->start_ticks, header->start_monotonic_ns };

	assert(header->tick_shift < 64);
	*clock = (struct clock) { .start_ticks = header->start_ticks,
				  .start_ns = header->start_monotonic_ns,
				  .slope = (double)(UINT64_C(1) << header->tick_shift) };
	return header->clock == TAPE_CLOCK_MONOTONIC || clock_points_push(&clock->points, start);
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
	const struct clock_point *last;

	assert(header->tick_shift < 64);
	if (clock->points.count == 0)
		return true;
	last = &clock->points.items[clock->points.count - 1];
	if (point.ticks <= last->ticks || point.ns <= last->ns)
		return true;
	return clock_points_push(&clock->points, point);
}

void clock_seal(struct clock *clock, const struct tape_header *header)
{
	const struct clock_points *points = &clock->points;

	if (header->clock == TAPE_CLOCK_MONOTONIC)
		return;
	clock->is_estimated = points->count < 2;
	clock->slope = (double)(UINT64_C(1) << header->tick_shift) / GUESSED_GHZ;
	if (points->count >= 2) {
		const struct clock_point *first = points->items;
		const struct clock_point *last = &points->items[points->count - 1];

		clock->slope =
			(double)(last->ns - first->ns) / (double)(last->ticks - first->ticks);
	}
}

uint64_t clock_ticks(const struct clock *clock, const struct tape_header *header, uint64_t ns,
		     uint64_t most)
{
	const struct clock_points *points = &clock->points;
	double ticks = (double)ns / (double)(UINT64_C(1) << header->tick_shift);

	if (header->clock != TAPE_CLOCK_MONOTONIC)
		ticks *= GUESSED_GHZ;
	if (points->count >= 2) {
		const struct clock_point *first = points->items;
		const struct clock_point *last = &points->items[points->count - 1];

		ticks = (double)ns * (double)(last->ticks - first->ticks) /
			(double)(last->ns - first->ns);
	}
	return ticks < (double)most ? (uint64_t)ticks : most;
}

uint64_t clock_horizon(const struct clock *clock)
{
	if (clock->points.count == 0)
		return UINT64_MAX;
	return clock->points.items[clock->points.count - 1].ticks;
}

bool clock_follow(struct clock *copy, const struct clock *clock)
{
	struct clock_points points = copy->points;

	assert(copy != clock);
	assert(copy->points.count <= clock->points.count);
	*copy = *clock;
	copy->points = points;
	while (copy->points.count < clock->points.count)
		if (!clock_points_push(&copy->points, clock->points.items[copy->points.count]))
			return false;
	return true;
}

enum { NS_BITS_MAX = 62 }; /* the end of time */

static size_t point_before(const struct clock_points *points, uint64_t ticks)
{
	size_t low = 0, high = points->count;

	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		if (points->items[middle].ticks <= ticks)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* At the overall slope: after the last point, and before the first, which is not kept. */
static struct clock_piece piece_outside(const struct clock *clock, struct clock_point point,
					uint64_t ticks)
{
	return (struct clock_piece) {
		.begin_ticks = point.ticks,
		.ticks_count = ticks < point.ticks ? 0 : UINT64_MAX - point.ticks,
		.begin_ns = (double)(int64_t)(point.ns - clock->start_ns),
		.slope = clock->slope,
		.end_ns = UINT64_C(1) << NS_BITS_MAX,
	};
}

void clock_find(const struct clock *clock, uint64_t ticks, struct clock_piece *piece_ret)
{
	const struct clock_points *points = &clock->points;
	const struct clock_point start = { clock->start_ticks, clock->start_ns }, *point;
	size_t at = 0;

	if (points->count > 0)
		at = point_before(points, ticks);
	point = points->count > 0 ? &points->items[at] : &start;
	if (ticks < point->ticks || at + 1 >= points->count) {
		*piece_ret = piece_outside(clock, *point, ticks);
		return;
	}
	*piece_ret = (struct clock_piece) {
		.begin_ticks = point->ticks,
		.ticks_count = point[1].ticks - point->ticks,
		.begin_ns = (double)(int64_t)(point->ns - clock->start_ns),
		.slope =
			(double)(point[1].ns - point->ns) / (double)(point[1].ticks - point->ticks),
		.end_ns = u64_min(point[1].ns - u64_min(clock->start_ns, point[1].ns),
				  UINT64_C(1) << NS_BITS_MAX),
	};
}

uint64_t clock_ns(const struct clock *clock, uint64_t ticks)
{
	struct clock_piece piece;

	clock_find(clock, ticks, &piece);
	return clock_in_piece(&piece, ticks);
}
