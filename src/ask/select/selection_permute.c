/*
 * All selected rows ordered by a field, by bucket sort: the bucket borders are sampled values, and
 * values equal to a border have their own bucket, which needs no sorting. The other buckets are
 * small and sorted one by one.
 */
#include <assert.h>

#include "base/sort.h"
#include "select/sort_keys.h"

enum { SAMPLES = 1 << 14, BORDERS_MAX = SAMPLES / 2, PARTS = 2 * BORDERS_MAX + 1 };

static_assert(PARTS <= UINT16_MAX, "parts are 16 bits");

struct dealer {
	const struct sort_keys *keys;
	uint64_t borders[BORDERS_MAX]; /* ascending, distinct */
	size_t border_count;
	uint16_t *parts; /* by position in time order */
	uint64_t begins[PARTS + 1];
	uint32_t *rows;
};

static int key_compare(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* Samples keys at equal distances; every second one is a border. */
static struct err *borders_find(struct dealer *dealer, struct sort_reading *reading)
{
	const struct selection *selection = dealer->keys->selection;
	const size_t count = u64_min(selection->count, SAMPLES);
	CLEAN(free) uint64_t *samples = calloc(count + 1, sizeof(*samples));

	if (!samples)
		return err_nomem();
	for (size_t at = 0; at < count; at += MODEL_BATCH) {
		const size_t part = u64_min(count - at, MODEL_BATCH);

		for (size_t i = 0; i < part; i++)
			reading->rows[i] =
				selection_row(selection, (at + i) * selection->count / count);
		sort_reading_list(reading, part);
		memcpy(samples + at, reading->values, part * sizeof(*samples));
	}
	if (!sort_stable(samples, count, sizeof(*samples), key_compare, NULL))
		return err_nomem();
	for (size_t i = 0; i < count && dealer->border_count < BORDERS_MAX; i += 2) {
		if (dealer->border_count == 0 ||
		    samples[i] > dealer->borders[dealer->border_count - 1])
			dealer->borders[dealer->border_count++] = samples[i];
	}
	return NULL;
}

/* Odd parts have values equal to a border, even ones those between two borders. */
static uint16_t part_of(const struct dealer *dealer, uint64_t key)
{
	size_t low = 0, high = dealer->border_count; /* first border that is not less */

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (dealer->borders[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return (uint16_t)(2 * low + (low < dealer->border_count && dealer->borders[low] == key));
}

/* A worker's private data. */
struct worker {
	struct dealer *dealer;
	struct sort_reading reading;
	struct sort_pair *pairs; /* room for pair_room */
	size_t pair_room;
	uint64_t counts[PARTS];
};

struct crew {
	struct worker *workers;
	size_t count;
};

static void crew_deinit(struct crew *crew)
{
	for (size_t i = 0; crew->workers && i < crew->count; i++)
		free(crew->workers[i].pairs);
	free(crew->workers);
}
CLEAN_DEFINE_DEINIT(crew_deinit, struct crew);

static uint64_t rows_before(const struct selection *selection, uint64_t segment)
{
	if (!selection->bits)
		return segment * MODEL_SEGMENT;
	return segment ? selection->segment_ends[segment - 1] : 0;
}

static struct err *find_segment(void *context, uint64_t segment)
{
	struct worker *worker = context;
	struct dealer *dealer = worker->dealer;
	const struct selection *selection = dealer->keys->selection;
	const uint64_t end =
		u64_min((segment + 1) * MODEL_SEGMENT, model_row_count(selection->model));
	uint64_t place = rows_before(selection, segment);

	for (uint64_t at = segment * MODEL_SEGMENT; at < end; at += MODEL_BATCH) {
		sort_reading_read(&worker->reading, at);
		for (size_t i = 0; i < worker->reading.count; i++) {
			const uint16_t part = part_of(dealer, worker->reading.values[i]);

			dealer->parts[place++] = part;
			worker->counts[part]++;
		}
	}
	return NULL;
}

static struct err *parts_find(struct dealer *dealer, struct crew *crew)
{
	const struct selection *selection = dealer->keys->selection;
	struct err *err = sweep_run(
		&selection->limits, div_up(model_row_count(selection->model), MODEL_SEGMENT),
		find_segment, crew->workers, sizeof(*crew->workers), crew->count);

	for (size_t part = 0; part < PARTS; part++) {
		dealer->begins[part + 1] = dealer->begins[part];
		for (size_t i = 0; i < crew->count; i++)
			dealer->begins[part + 1] += crew->workers[i].counts[part];
	}
	return err;
}

/* In time order, so that ties stay in it. */
static void deal(struct dealer *dealer)
{
	const struct selection *selection = dealer->keys->selection;
	uint64_t rows[MODEL_BATCH], at = 0, place = 0;
	size_t count;

	while ((count = selection_next(selection, &at, rows)) > 0) {
		for (size_t i = 0; i < count; i++)
			dealer->rows[dealer->begins[dealer->parts[place++]]++] = (uint32_t)rows[i];
	}
	/* Each begin has advanced to its end, the next one's begin. */
	memmove(dealer->begins + 1, dealer->begins, PARTS * sizeof(*dealer->begins));
	dealer->begins[0] = 0;
}

static bool pairs_reserve(struct worker *worker, size_t count)
{
	if (count <= worker->pair_room)
		return true;
	free(worker->pairs);
	worker->pairs = calloc(2 * count, sizeof(*worker->pairs));
	worker->pair_room = worker->pairs ? 2 * count : 0;
	return worker->pairs != NULL;
}

static struct err *part_sort(struct worker *worker, uint32_t *rows, size_t count)
{
	struct sort_reading *reading = &worker->reading;

	if (!pairs_reserve(worker, count))
		return err_nomem();
	for (size_t at = 0; at < count; at += MODEL_BATCH) {
		const size_t part = u64_min(count - at, MODEL_BATCH);

		for (size_t i = 0; i < part; i++)
			reading->rows[i] = rows[at + i];
		sort_reading_list(reading, part);
		for (size_t i = 0; i < part; i++)
			worker->pairs[at + i] =
				(struct sort_pair) { reading->values[i], rows[at + i] };
	}
	if (!sort_pairs(worker->pairs, count))
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		rows[i] = worker->pairs[i].index;
	return NULL;
}

enum { PARTS_AT_ONCE = 64 };

static struct err *sort_some(void *context, uint64_t number)
{
	struct worker *worker = context;
	const struct dealer *dealer = worker->dealer;
	const size_t end = u64_min((number + 1) * PARTS_AT_ONCE, PARTS);
	struct err *err = NULL;

	for (size_t part = number * PARTS_AT_ONCE; part < end && !err; part += 2) {
		const uint64_t begin = dealer->begins[part];
		const uint64_t count = dealer->begins[part + 1] - begin;

		if (count > 1)
			err = part_sort(worker, dealer->rows + begin, count);
	}
	return err;
}

static struct err *permute(struct dealer *dealer, struct crew *crew)
{
	const struct sweep_limits *limits = &dealer->keys->selection->limits;
	struct err *err;

	for (size_t i = 0; i < crew->count; i++) {
		crew->workers[i].dealer = dealer;
		crew->workers[i].reading.keys = dealer->keys;
	}
	err = borders_find(dealer, &crew->workers[0].reading);
	if (!err)
		err = parts_find(dealer, crew);
	if (err)
		return err;
	deal(dealer);
	return sweep_run(limits, div_up(PARTS, PARTS_AT_ONCE), sort_some, crew->workers,
			 sizeof(*crew->workers), crew->count);
}

struct err *selection_permute(const struct selection *selection,
			      const struct selection_order *order, struct arena *arena,
			      const uint32_t **rows_ret)
{
	CLEAN(sort_keys_deinit) struct sort_keys keys = { 0 };
	CLEAN(free) struct dealer *dealer = calloc(1, sizeof(*dealer));
	CLEAN(free) uint16_t *parts = calloc(selection->count + 1, sizeof(*parts));
	CLEAN(crew_deinit) struct crew crew = { 0 };
	uint32_t *rows = arena_array(arena, selection->count, sizeof(*rows));
	struct err *err;

	assert(order->field->type != FIELD_TEXTS);
	assert(order->field);
	crew.count = sweep_workers(&selection->limits,
				   div_up(model_row_count(selection->model), MODEL_SEGMENT));
	crew.workers = calloc(crew.count, sizeof(*crew.workers));
	if (!dealer || !parts || !crew.workers || !rows)
		return err_nomem();
	if (model_row_count(selection->model) > UINT32_MAX)
		return err_new(ERR_LIMIT, "too many allocations to sort all of them");
	err = sort_keys_init(&keys, selection, order);
	if (err)
		return err;
	dealer->keys = &keys;
	dealer->parts = parts;
	dealer->rows = rows;
	err = permute(dealer, &crew);
	if (!err)
		*rows_ret = rows;
	return err;
}
