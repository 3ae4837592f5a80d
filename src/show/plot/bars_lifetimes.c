#include <assert.h>
#include <math.h>

#include "groups/spread.h"
#include "plot/bars_parts.h"
#include "select/passes.h"

/* Bucket 0 is under 100 ns, then 100, 200, 500, 1000 ... to 10^13 ns; the last has no end. */
enum { FIRST_NS = 100, STEPS = 3, BUCKETS = 11 * STEPS + 2 };

struct count {
	struct bar bars[BUCKETS];
	struct model_sum never;
	struct model_sum lost; /* freed unnoticed, time unknown */
	struct spread spread;
};

/* Lower bound of bucket i; bucket 1 begins at 100 ns. */
static uint64_t bucket_min(size_t bucket)
{
	static const unsigned steps[STEPS] = { 1, 2, 5 };
	uint64_t power = FIRST_NS;

	if (bucket == 0)
		return 0;
	for (size_t i = 0; i < (bucket - 1) / STEPS; i++)
		power *= 10;
	return power * steps[(bucket - 1) % STEPS];
}

static size_t bucket_of(const uint64_t *mins, uint64_t ns)
{
	size_t low = 0, high = BUCKETS;

	while (high - low > 1) {
		const size_t middle = (low + high) / 2;

		if (mins[middle] <= ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void sum_take(struct model_sum *sum, uint64_t bytes)
{
	sum->count++;
	sum->bytes += bytes;
}

static void lifetime_count(struct count *count, const uint64_t *mins, const struct pass_rows *rows,
			   size_t i)
{
	const bool is_temporary = rows->flags[i] & MODEL_ALLOCATION_TEMPORARY;
	uint64_t ns;

	if (rows->flags[i] & MODEL_ALLOCATION_LOST_FREE) {
		sum_take(&count->lost, rows->size[i]);
		return;
	}
	if (rows->free_ns[i] == MODEL_NEVER) {
		sum_take(&count->never, rows->size[i]);
		return;
	}
	ns = rows->free_ns[i] - rows->alloc_ns[i];
	sum_take(&count->bars[bucket_of(mins, ns)].parts[is_temporary ? BAR_TEMPORARY : BAR_FREED],
		 rows->size[i]);
	spread_add(&count->spread, ns);
}

static struct err *count_rows(const struct selection *selection, struct count *count)
{
	CLEAN(free) struct pass_rows *rows = malloc(sizeof(*rows));
	struct pass pass = pass_begin(selection->model, selection);
	uint64_t mins[BUCKETS];

	if (!rows)
		return err_nomem();
	for (size_t i = 0; i < BUCKETS; i++)
		mins[i] = bucket_min(i);
	spread_init(&count->spread);
	while (pass_next(&pass)) {
		pass_rows_read(&pass, rows);
		for (size_t i = 0; i < pass.count; i++)
			lifetime_count(count, mins, rows, i);
	}
	return NULL;
}

/* --- layout --------------------------------------------------------------------------------- */

static char *range_text(struct arena *arena, size_t bucket)
{
	char from[STR_SHORT_BYTES], to[STR_SHORT_BYTES];

	if (bucket == 0)
		return arena_printf(arena, "under %s", str_duration(to, FIRST_NS));
	if (bucket + 1 == BUCKETS)
		return arena_printf(arena, "%s and more", str_duration(from, bucket_min(bucket)));
	return arena_printf(arena, "%s to under %s", str_duration(from, bucket_min(bucket)),
			    str_duration(to, bucket_min(bucket + 1)));
}

static bool bar_stand(struct bars *bars, const struct bar *counted, double begin, const char *title)
{
	struct bar *bar = bar_vec_add(&bars->items);

	if (!bar || !title)
		return false;
	*bar = *counted;
	bar->begin = begin;
	bar->end = begin + 1;
	bar->title = title;
	return true;
}

static bool is_empty(const struct bar *bar)
{
	return bar_whole(bar).count == 0;
}

/* Position of a lifetime on the axis of equally wide buckets. */
static double position_of(uint64_t ns, size_t first)
{
	uint64_t mins[BUCKETS];
	size_t bucket;
	double least, most;

	for (size_t i = 0; i < BUCKETS; i++)
		mins[i] = bucket_min(i);
	bucket = bucket_of(mins, ns);
	least = (double)bucket_min(bucket);
	most = bucket + 1 < BUCKETS ? (double)bucket_min(bucket + 1) : least * 2;
	return (double)bucket - (double)first + ((double)ns - least) / (most - least);
}

static bool marks_make(const struct count *count, size_t first, struct arena *arena,
		       struct bars *bars)
{
	static const struct {
		unsigned thousandths;
		const char *title;
	} wanted[] = { { 500, "half" }, { 900, "90 %" }, { 990, "99 %" } };
	char text[STR_SHORT_BYTES];

	for (size_t i = 0; i < array_size(wanted) && count->spread.count > 0; i++) {
		const uint64_t ns = spread_percentile(&count->spread, wanted[i].thousandths);
		struct bar_mark *mark = &bars->marks[bars->mark_count++];

		mark->x = position_of(ns, first);
		mark->label = arena_printf(arena, "%s within %s", wanted[i].title,
					   str_duration(text, ns));
		if (!mark->label)
			return false;
	}
	return true;
}

static bool lay(const struct count *count, struct arena *arena, struct bars *bars)
{
	size_t first = 0, last = BUCKETS - 1;
	char text[STR_SHORT_BYTES];
	const char *title;
	double end;

	while (first < last && is_empty(&count->bars[first]))
		first++;
	while (last > first && is_empty(&count->bars[last]))
		last--;
	for (size_t i = first; i <= last; i++) {
		CLEAN(str_deinit) struct str label = { 0 };

		ticks_add_value(&label, TICKS_NS, (double)bucket_min(i));
		bars_tick(bars, (double)(i - first), i == 0 || (i - 1) % STEPS != 0,
			  i == 0 ? "" : str_text(&label));
		if (!bar_stand(bars, &count->bars[i], (double)(i - first), range_text(arena, i)))
			return false;
	}
	end = (double)(last - first + 1);
	if (count->never.count > 0) {
		const struct bar never = { .parts = { [BAR_LEAKED] = count->never } };

		if (!bar_stand(bars, &never, end + 1, "never freed"))
			return false;
		bars->end_label = "never";
		bars->end_x = end + 1.5;
		end += 2.5;
	}
	title = count->lost.count == 0
			? "how long blocks lived"
			: arena_printf(arena, "how long blocks lived (%s more were never freed)",
				       str_grouped(text, count->lost.count));
	bars->x = (struct axis) { .title = title ? title : "", .unit = TICKS_NS, .max = end };
	return marks_make(count, first, arena, bars);
}

struct err *bars_lifetimes(const struct selection *selection, enum bars_metric metric,
			   const struct chart_settings *settings, FILE *out)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct count *count = arena_new(&arena, struct count);
	struct bars bars = { 0 };
	struct err *err;

	assert(metric == BARS_COUNT || metric == BARS_BYTES);
	if (!count)
		return err_nomem();
	err = count_rows(selection, count);
	if (!err && !lay(count, &arena, &bars))
		err = err_nomem();
	if (!err)
		err = bars_draw(&bars, metric, settings, out);
	bar_vec_deinit(&bars.items);
	return err;
}
