/*
 * The timeline of any time window. A cursor goes through allocations and frees in order of time,
 * and skips spans of the stored timeline that lie completely in a requested span.
 */
#include <assert.h>

#include "model/parts.h"

#include "base/number.h"

/* Values of rows read ahead, for one direction of the cursor. */
struct feed {
	uint64_t next; /* number of the event after this one */
	uint64_t count;
	uint64_t first; /* what is in the buffers */
	size_t filled;
	uint64_t ns[MODEL_BATCH];
	uint64_t size[MODEL_BATCH];
};

struct cursor {
	const struct model *model;
	struct feed allocations;
	struct feed frees;
	uint64_t live_bytes;
	uint64_t allocated_bytes;
	size_t fine_at; /* first fine span that begins at or after the cursor, if usable */
	struct clock_piece piece;
};

static void feed_fill(const struct model *model, struct feed *feed, bool is_frees)
{
	feed->first = feed->next;
	feed->filled = u64_min(feed->count - feed->next, MODEL_BATCH);
	if (is_frees) {
		table_freed_read(model, FREED_TIME, feed->first, feed->filled, feed->ns);
		table_freed_read(model, FREED_SIZE, feed->first, feed->filled, feed->size);
	} else {
		model_rows_read(model, MODEL_ALLOC_NS, feed->first, feed->filled, feed->ns);
		model_rows_read(model, MODEL_SIZE, feed->first, feed->filled, feed->size);
	}
}

/* Time of the next event; MODEL_NEVER: there is none. */
static uint64_t feed_peek(const struct model *model, struct feed *feed, bool is_frees)
{
	if (feed->next >= feed->count)
		return MODEL_NEVER;
	if (feed->next < feed->first || feed->next >= feed->first + feed->filled)
		feed_fill(model, feed, is_frees);
	return feed->ns[feed->next - feed->first];
}

static uint64_t feed_take(struct feed *feed)
{
	return feed->size[feed->next++ - feed->first];
}

/* Processes all events before ns; returns the most bytes that were live meanwhile. */
static uint64_t cursor_walk(struct cursor *cursor, uint64_t ns)
{
	uint64_t max = cursor->live_bytes;

	for (;;) {
		uint64_t alloc = feed_peek(cursor->model, &cursor->allocations, false);
		uint64_t end = feed_peek(cursor->model, &cursor->frees, true);

		if (u64_min(alloc, end) >= ns)
			return max;
		if (end <= alloc) {
			cursor->live_bytes -= feed_take(&cursor->frees);
			continue;
		}
		alloc = feed_take(&cursor->allocations);
		cursor->live_bytes += alloc;
		cursor->allocated_bytes += alloc;
		max = u64_max(max, cursor->live_bytes);
	}
}

/* The last span ends with the run: nothing is later. */
static uint64_t fine_begin(struct cursor *cursor, size_t fine)
{
	const struct model *model = cursor->model;

	if (fine == model->fine_count)
		return model->process.duration_ns;
	return clock_ns_piece(&model->clock,
			      model->fine_begin_ticks + fine * model->fine_span_ticks,
			      &cursor->piece);
}

/* Everything up to and including this fine span has happened. */
static void cursor_jump(struct cursor *cursor, size_t fine)
{
	const struct timeline_now *now = &cursor->model->fine[fine].end;

	cursor->allocations.next = now->allocated_count;
	cursor->frees.next = now->allocated_count - now->live_count;
	cursor->live_bytes = now->live_bytes;
	cursor->allocated_bytes = now->allocated_bytes;
}

/*
 * Fine spans are cut by ticks, which are finer than ns: an event just before a span's end may have
 * the same ns as the end. So a span is over at ns only if its end is less than ns.
 */
static bool fine_is_over(struct cursor *cursor, size_t fine, uint64_t ns)
{
	return fine < cursor->model->fine_count && fine_begin(cursor, fine + 1) < ns;
}

/* How many fine spans are over at ns. */
static size_t fine_over(struct cursor *cursor, uint64_t ns)
{
	size_t low = 0, high = cursor->model->fine_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (fine_is_over(cursor, middle, ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Advances to ns, skipping the fine spans between; returns the most bytes that were live. */
static uint64_t cursor_go(struct cursor *cursor, uint64_t ns)
{
	const struct model *model = cursor->model;
	uint64_t max = cursor->live_bytes;

	if (fine_is_over(cursor, cursor->fine_at, ns)) {
		max = cursor_walk(cursor, fine_begin(cursor, cursor->fine_at) + 1);
		while (fine_is_over(cursor, cursor->fine_at, ns))
			max = u64_max(max, model->fine[cursor->fine_at++].live_bytes_max);
		cursor_jump(cursor, cursor->fine_at - 1);
	}
	max = u64_max(max, cursor_walk(cursor, ns));
	while (cursor->fine_at < model->fine_count && fine_begin(cursor, cursor->fine_at) < ns)
		cursor->fine_at++;
	return max;
}

static void cursor_begin(struct cursor *cursor, const struct model *model, uint64_t ns)
{
	*cursor = (struct cursor) { .model = model };
	cursor->allocations.count = model_row_count(model);
	cursor->frees.count = model_free_count(model);
	cursor->fine_at = fine_over(cursor, ns);
	if (cursor->fine_at > 0)
		cursor_jump(cursor, cursor->fine_at - 1);
	cursor_go(cursor, ns);
}

/* from + part * i / count without overflow: the point's beginning. */
static uint64_t point_begin(uint64_t from, uint64_t length, size_t i, size_t count)
{
	return from + u64_mul_div(length, i, count);
}

void model_timeline_window(const struct model *model, uint64_t from, uint64_t until,
			   size_t point_count, struct model_timeline_span *spans)
{
	struct cursor cursor;

	assert(spans);
	assert(point_count > 0);
	assert(from <= until);
	cursor_begin(&cursor, model, from);
	for (size_t i = 0; i < point_count; i++) {
		const uint64_t end = point_begin(from, until - from, i + 1, point_count);
		const uint64_t rows = cursor.allocations.next, bytes = cursor.allocated_bytes;
		const uint64_t frees = cursor.frees.next;
		const uint64_t max = cursor_go(&cursor, end);

		spans[i] = (struct model_timeline_span) {
			.begin_ns = point_begin(from, until - from, i, point_count),
			.live_bytes_max = max,
			.live_bytes_end = cursor.live_bytes,
			.live_count_end = cursor.allocations.next - cursor.frees.next,
			.allocated = { cursor.allocations.next - rows,
				       cursor.allocated_bytes - bytes },
			.free_count = cursor.frees.next - frees,
		};
	}
}

/* --- when most was alive ------------------------------------------------------------------- */

/* Like cursor_walk, until `wanted` bytes are live. */
static void peak_walk(struct cursor *cursor, uint64_t ns, uint64_t wanted, struct model_peak *peak)
{
	while (peak->bytes < wanted) {
		const uint64_t alloc = feed_peek(cursor->model, &cursor->allocations, false);
		const uint64_t end = feed_peek(cursor->model, &cursor->frees, true);

		if (u64_min(alloc, end) >= ns)
			return;
		if (end <= alloc) {
			cursor->live_bytes -= feed_take(&cursor->frees);
			continue;
		}
		cursor->live_bytes += feed_take(&cursor->allocations);
		/* Below zero: a block whose free came first, in the same nanosecond. */
		if (cursor->live_bytes > peak->bytes && cursor->live_bytes <= INT64_MAX)
			*peak = (struct model_peak) { .bytes = cursor->live_bytes,
						      .row_count = cursor->allocations.next,
						      .gone_ns = alloc };
	}
}

/* Within a fine span, whose maximum is known already. */
static void fine_peak(const struct cursor *at, size_t fine, struct model_peak *peak)
{
	const struct model *model = at->model;
	struct cursor cursor = { .model = model };
	struct model_peak found = { 0 };

	cursor.allocations.count = at->allocations.count;
	cursor.frees.count = at->frees.count;
	if (fine > 0)
		cursor_jump(&cursor, fine - 1);
	peak_walk(&cursor, fine_begin(&cursor, fine + 1) + 1, model->fine[fine].live_bytes_max,
		  &found);
	if (found.bytes > peak->bytes)
		*peak = found;
}

/* Like cursor_go. */
static void peak_go(struct cursor *cursor, uint64_t ns, struct model_peak *peak)
{
	const struct model *model = cursor->model;
	size_t most = SIZE_MAX;

	if (fine_is_over(cursor, cursor->fine_at, ns)) {
		uint64_t bytes;

		peak_walk(cursor, fine_begin(cursor, cursor->fine_at) + 1, UINT64_MAX, peak);
		bytes = peak->bytes;
		for (; fine_is_over(cursor, cursor->fine_at, ns); cursor->fine_at++) {
			if (model->fine[cursor->fine_at].live_bytes_max <= bytes)
				continue;
			most = cursor->fine_at;
			bytes = model->fine[most].live_bytes_max;
		}
		if (most != SIZE_MAX)
			fine_peak(cursor, most, peak);
		cursor_jump(cursor, cursor->fine_at - 1);
	}
	peak_walk(cursor, ns, UINT64_MAX, peak);
	while (cursor->fine_at < model->fine_count && fine_begin(cursor, cursor->fine_at) < ns)
		cursor->fine_at++;
}

void model_timeline_peaks(const struct model *model, uint64_t from, uint64_t until,
			  size_t point_count, struct model_peak *peaks)
{
	struct cursor cursor;

	assert(peaks);
	assert(point_count > 0);
	assert(from <= until);
	cursor_begin(&cursor, model, from);
	for (size_t i = 0; i < point_count; i++) {
		const uint64_t begin = point_begin(from, until - from, i, point_count);

		peaks[i] = (struct model_peak) {
			.bytes = cursor.live_bytes,
			.row_count = cursor.allocations.next,
			.gone_ns = begin > 0 ? begin - 1 : 0,
			.is_begin = true,
		};
		peak_go(&cursor, point_begin(from, until - from, i + 1, point_count), &peaks[i]);
	}
}
