#include <assert.h>

#include "plot/bars_parts.h"
#include "select/passes.h"

enum {
	NARROW_BYTES = 16,
	NARROW_BUCKETS = 4096, /* plus one for all larger sizes */
	NARROW_SHOWN_MIN = 16,
	NARROW_REST = 5, /* at most this many thousandths among the larger ones */
	BARS_MAX = NARROW_BUCKETS + 1
};

static enum bar_part part_of(uint64_t free_ns, uint64_t flags)
{
	if (free_ns == MODEL_NEVER)
		return BAR_LEAKED;
	return flags & MODEL_ALLOCATION_TEMPORARY ? BAR_TEMPORARY : BAR_FREED;
}

static size_t log2_bucket(uint64_t bytes)
{
	return bytes == 0 ? 0 : 64 - (size_t)__builtin_clzll(bytes);
}

static size_t narrow_bucket(uint64_t bytes)
{
	return u64_min(bytes / NARROW_BYTES, NARROW_BUCKETS);
}

static struct err *count_rows(const struct selection *selection,
			      size_t (*bucket_of)(uint64_t bytes), struct bar *bars)
{
	CLEAN(free) struct pass_rows *rows = malloc(sizeof(*rows));
	struct pass pass = pass_begin(selection->model, selection);

	if (!rows)
		return err_nomem();
	while (pass_next(&pass)) {
		pass_rows_read(&pass, rows);
		for (size_t i = 0; i < pass.count; i++) {
			struct bar *bar = &bars[bucket_of(rows->size[i])];
			struct model_sum *sum =
				&bar->parts[part_of(rows->free_ns[i], rows->flags[i])];

			sum->count++;
			sum->bytes += rows->size[i];
		}
	}
	return NULL;
}

/* Counts of all allocations, from the model. */
static void count_model(const struct model *model, struct bar *bars)
{
	const struct model_size_bucket *buckets = model_size_buckets(model);

	for (size_t i = 0; i < MODEL_SIZE_BUCKETS; i++) {
		const struct model_size_bucket *bucket = &buckets[i];
		struct model_sum *parts = bars[i].parts;

		parts[BAR_TEMPORARY] = bucket->temporary;
		parts[BAR_LEAKED] = bucket->leaked;
		parts[BAR_FREED].count =
			bucket->allocated.count - bucket->temporary.count - bucket->leaked.count;
		parts[BAR_FREED].bytes =
			bucket->allocated.bytes - bucket->temporary.bytes - bucket->leaked.bytes;
	}
}

static uint64_t bucket_min(size_t bucket)
{
	return bucket == 0 ? 0 : (uint64_t)1 << (bucket - 1);
}

static uint64_t bar_value(const struct bar *bar, enum bars_metric metric)
{
	const struct model_sum whole = bar_whole(bar);

	return metric == BARS_BYTES ? whole.bytes : whole.count;
}

static void bar_join(struct bar *to, const struct bar *from)
{
	for (unsigned i = 0; i < BAR_PARTS; i++) {
		to->parts[i].count += from->parts[i].count;
		to->parts[i].bytes += from->parts[i].bytes;
	}
}

static bool is_empty(const struct bar *bar)
{
	return bar_whole(bar).count == 0;
}

static char *range_text(struct arena *arena, uint64_t least, uint64_t most)
{
	char from[STR_SHORT_BYTES], to[STR_SHORT_BYTES];

	if (least == most)
		return arena_printf(arena, "%llu B", (unsigned long long)least);
	if (most < 1024)
		return arena_printf(arena, "%llu - %llu B", (unsigned long long)least,
				    (unsigned long long)most);
	return arena_printf(arena, "%s to under %s", str_iec(from, least), str_iec(to, most + 1));
}

/* Equally wide bars; the labels at their left edges are their smallest sizes. */
static struct err *lay_log2(const struct bar *counted, struct arena *arena, struct bars *bars)
{
	size_t first = 0, last = MODEL_SIZE_BUCKETS - 1;

	while (first < last && is_empty(&counted[first]))
		first++;
	while (last > first && is_empty(&counted[last]))
		last--;
	for (size_t i = first; i <= last; i++) {
		const uint64_t most = i == 0 ? 0 : bucket_min(i) * 2 - 1;
		struct bar *bar = bar_vec_add(&bars->items);
		CLEAN(str_deinit) struct str label = { 0 };

		if (!bar)
			return err_nomem();
		*bar = counted[i];
		bar->begin = (double)(i - first);
		bar->end = bar->begin + 1;
		bar->title = range_text(arena, bucket_min(i), most);
		if (!bar->title)
			return err_nomem();
		ticks_add_value(&label, TICKS_BYTES, (double)bucket_min(i));
		bars_tick(bars, bar->begin, false, str_text(&label));
	}
	bars->x = (struct axis) { .title = "size of the block, from this to under the next",
				  .unit = TICKS_BYTES,
				  .max = (double)(last - first + 1) };
	return NULL;
}

/* The gap between the last bucket and that of larger sizes has no ticks. */
static void lay_narrow_ticks(struct bars *bars, double end, bool has_large)
{
	const double step = ticks_step(TICKS_BYTES, end / 8, end);
	struct ticks ticks;

	ticks_linear(TICKS_BYTES, 0, end, step, &ticks);
	for (size_t i = 0; i < ticks.count; i++) {
		if (!has_large || ticks.items[i].value < end - step / 2)
			bars_tick(bars, ticks.items[i].value, false, ticks.items[i].label);
	}
	if (has_large) {
		bars->end_label = "larger";
		bars->end_x = end * 1.035;
	}
}

/* Enough buckets for nearly all blocks: one large block must not squeeze all others to the edge. */
static size_t narrow_count(const struct bar *counted, enum bars_metric metric)
{
	uint64_t whole = 0, sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < NARROW_BUCKETS; i++)
		whole += bar_value(&counted[i], metric);
	while (count < NARROW_BUCKETS &&
	       (count < NARROW_SHOWN_MIN || sum < whole - whole * NARROW_REST / 1000))
		sum += bar_value(&counted[count++], metric);
	return count;
}

static struct err *narrow_stand(struct bars *bars, const struct bar *counted, size_t begin,
				size_t end, char *title)
{
	struct bar *bar = bar_vec_add(&bars->items);

	if (!bar || !title)
		return err_nomem();
	*bar = *counted;
	bar->begin = (double)begin * NARROW_BYTES;
	bar->end = (double)end * NARROW_BYTES;
	bar->title = title;
	return NULL;
}

/* Larger sizes share one separate bar at the end. */
static struct err *lay_narrow(const struct bar *counted, enum bars_metric metric,
			      struct arena *arena, struct bars *bars)
{
	const size_t count = narrow_count(counted, metric);
	const double end = (double)count * NARROW_BYTES;
	struct bar large = { 0 };
	char text[STR_SHORT_BYTES];
	struct err *err = NULL;
	bool has_large;

	for (size_t i = 0; i < count && !err; i++) {
		if (bar_whole(&counted[i]).count > 0)
			err = narrow_stand(
				bars, &counted[i], i, i + 1,
				range_text(arena, i * NARROW_BYTES, (i + 1) * NARROW_BYTES - 1));
	}
	for (size_t i = count; i < BARS_MAX; i++)
		bar_join(&large, &counted[i]);
	has_large = bar_whole(&large).count > 0;
	if (!err && has_large) {
		err = narrow_stand(
			bars, &large, 0, 1,
			arena_printf(arena, "%s and more", str_iec(text, count * NARROW_BYTES)));
		bars->items.items[bars->items.count - 1].begin = end * 1.02;
		bars->items.items[bars->items.count - 1].end = end * 1.05;
	}
	bars->x = (struct axis) {
		.title = "size of the block, in steps of 16 bytes",
		.unit = TICKS_BYTES,
		.max = end * (has_large ? 1.06 : 1),
	};
	lay_narrow_ticks(bars, end, has_large);
	return err;
}

struct err *bars_sizes(const struct selection *selection, enum bars_buckets buckets,
		       enum bars_metric metric, const struct chart_settings *settings, FILE *out)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct bar *counted = arena_array(&arena, BARS_MAX, sizeof(*counted));
	struct bars bars = { 0 };
	struct err *err = NULL;

	assert(buckets == BARS_BUCKETS_LOG2 || buckets == BARS_BUCKETS_16);
	assert(metric == BARS_COUNT || metric == BARS_BYTES);
	if (!counted)
		return err_nomem();
	if (buckets == BARS_BUCKETS_16)
		err = count_rows(selection, narrow_bucket, counted);
	else if (selection_is_all(selection))
		count_model(selection->model, counted);
	else
		err = count_rows(selection, log2_bucket, counted);
	if (!err)
		err = buckets == BARS_BUCKETS_16 ? lay_narrow(counted, metric, &arena, &bars)
						 : lay_log2(counted, &arena, &bars);
	if (!err)
		err = bars_draw(&bars, metric, settings, out);
	bar_vec_deinit(&bars.items);
	return err;
}
