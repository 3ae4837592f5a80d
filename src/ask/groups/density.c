#include "groups/density.h"

#include <assert.h>
#include <math.h>

#include "base/big.h"
#include "base/number.h"
#include "select/batch.h"

const char *const density_kind_words[] = { "time", "size", "lifetime", "latency", NULL };

enum { X, Y, AXES };

struct places;

/* A worker's results for its segments. */
struct worker {
	const struct selection *selection;
	const struct density *density;
	enum density_kind kinds[AXES];
	struct batch *batch;
	uint64_t min[AXES]; /* of the values */
	uint64_t max[AXES];
	struct model_sum *cells; /* NULL: only the extent is searched */
	struct model_sum *never;
	const struct places *places; /* by axis */
	void (*visit)(struct worker *worker, const uint64_t *values, uint64_t bytes);
};

static const uint64_t NO_VALUE = MODEL_NEVER;	    /* the free or the call was not seen */
static const uint64_t NEVER_FREED = UINT64_MAX - 1; /* in place of a lifetime */

static uint64_t coordinate_of(enum density_kind kind, struct batch *batch, size_t i)
{
	const uint64_t end = batch->columns[MODEL_FREE_NS][i];

	switch (kind) {
	case DENSITY_TIME:
		return batch->columns[MODEL_ALLOC_NS][i];
	case DENSITY_SIZE:
		return batch->columns[MODEL_SIZE][i];
	case DENSITY_LATENCY:
		return batch->columns[MODEL_LATENCY][i];
	case DENSITY_LIFETIME:
		break;
	}
	if (batch->columns[MODEL_FLAGS][i] & MODEL_ALLOCATION_LOST_FREE)
		return NO_VALUE;
	return model_never_freed(end, batch->columns[MODEL_FLAGS][i])
		       ? NEVER_FREED
		       : end - batch->columns[MODEL_ALLOC_NS][i];
}

static void read_batch(struct worker *worker, const uint64_t *rows, size_t count)
{
	static const enum model_column columns[] = { MODEL_ALLOC_NS, MODEL_FREE_NS, MODEL_SIZE,
						     MODEL_FLAGS };

	batch_list(worker->batch, worker->selection->facts, rows, count);
	for (size_t i = 0; i < array_size(columns); i++)
		batch_column(worker->batch, columns[i]);
	if (worker->kinds[X] == DENSITY_LATENCY || worker->kinds[Y] == DENSITY_LATENCY)
		batch_column(worker->batch, MODEL_LATENCY);
}

static struct err *work(void *context, uint64_t segment)
{
	struct worker *worker = context;
	const uint64_t row_count = model_row_count(worker->selection->model);
	const uint64_t end = u64_min((segment + 1) * MODEL_SEGMENT, row_count);
	uint64_t rows[MODEL_BATCH], values[AXES];

	for (uint64_t first = segment * MODEL_SEGMENT; first < end; first += MODEL_BATCH) {
		const size_t count = selection_batch(worker->selection, first, rows);

		if (count == 0)
			continue;
		read_batch(worker, rows, count);
		for (size_t i = 0; i < count; i++) {
			for (int axis = X; axis < AXES; axis++)
				values[axis] = coordinate_of(worker->kinds[axis], worker->batch, i);
			if (values[X] != NO_VALUE && values[Y] != NO_VALUE)
				worker->visit(worker, values,
					      worker->batch->columns[MODEL_SIZE][i]);
		}
	}
	return NULL;
}

/* --- the extent ---------------------------------------------------------------------------- */

static void extent_visit(struct worker *worker, const uint64_t *values, uint64_t bytes)
{
	(void)bytes;
	for (int axis = X; axis < AXES; axis++) {
		if (values[axis] == NEVER_FREED)
			continue;
		worker->min[axis] = u64_min(worker->min[axis], values[axis]);
		worker->max[axis] = u64_max(worker->max[axis], values[axis]);
	}
}

/*
 * Adds an edge only if it is above the last one: there are no cells between adjacent integers.
 */
static void edge_add(struct density_axis *axis, uint64_t edge)
{
	if (axis->count == 0 || edge > axis->edges[axis->count - 1])
		axis->edges[axis->count++] = edge;
}

static void axis_make(struct density_axis *axis, enum density_kind kind, uint64_t min, uint64_t max,
		      size_t count)
{
	*axis = (struct density_axis) { .kind = kind, .is_log = kind != DENSITY_TIME };
	if (min > max)
		min = max = 1; /* no values */
	if (axis->is_log)
		min = u64_max(min, 1);
	max = u64_max(max, min + 1);
	for (size_t i = 0; i < count; i++) {
		const double share = (double)i / (double)count;
		const double edge =
			axis->is_log ? (double)min * exp(share * log((double)max / (double)min))
				     : (double)min + share * (double)(max - min);

		edge_add(axis, u64_min(u64_of_double(ceil(edge)), max));
	}
	axis->edges[0] = min;
	edge_add(axis, max);
	axis->count--; /* cells, of edges */
}

/* --- the cells ----------------------------------------------------------------------------- */

/*
 * Lookup table for the cell of a value: indexed by octave and the next bits; it has the cell of the
 * smallest such value, from which a short linear search follows.
 */
enum { NEXT_BITS = 4, PLACES = (64 - NEXT_BITS + 1) << NEXT_BITS };

struct places {
	uint16_t cells[PLACES];
};

static size_t place_of(uint64_t value)
{
	unsigned octave;

	if (value < 1 << NEXT_BITS)
		return (size_t)value;
	octave = 63 - (unsigned)__builtin_clzll(value) - NEXT_BITS;
	return ((size_t)octave << NEXT_BITS) + (size_t)(value >> octave);
}

static uint64_t place_begin(size_t place)
{
	const size_t octave = place < 1 << NEXT_BITS ? 0 : (place >> NEXT_BITS) - 1;

	return (uint64_t)(place - (octave << NEXT_BITS)) << octave;
}

static size_t cell_from(const struct density_axis *axis, size_t cell, uint64_t value)
{
	while (cell + 1 < axis->count && axis->edges[cell + 1] <= value)
		cell++;
	return cell;
}

static void places_fill(struct places *places, const struct density_axis *axis)
{
	size_t cell = 0;

	for (size_t place = 0; place < PLACES; place++) {
		cell = cell_from(axis, cell, place_begin(place));
		places->cells[place] = (uint16_t)cell;
	}
}

static size_t cell_of(const struct places *places, const struct density_axis *axis, uint64_t value)
{
	return cell_from(axis, places->cells[place_of(value)], value);
}

/* Time cells are equally wide, except for rounding. */
static size_t cell_of_time(const struct density_axis *axis, uint64_t ns)
{
	const uint64_t from = axis->edges[0], until = axis->edges[axis->count];
	const double share = ns > from ? (double)(ns - from) / (double)(until - from) : 0;
	size_t cell = (size_t)u64_min((uint64_t)(share * (double)axis->count), axis->count - 1);

	while (cell > 0 && axis->edges[cell] > ns)
		cell--;
	return cell_from(axis, cell, ns);
}

static void sum_add(struct model_sum *sum, uint64_t count, uint64_t bytes)
{
	sum->count += count;
	sum->bytes += bytes;
}

static void cell_visit(struct worker *worker, const uint64_t *values, uint64_t bytes)
{
	const struct density *density = worker->density;
	size_t column;

	if (values[X] == NEVER_FREED)
		return;
	column = density->x.kind == DENSITY_TIME
			 ? cell_of_time(&density->x, values[X])
			 : cell_of(&worker->places[X], &density->x, values[X]);
	if (values[Y] == NEVER_FREED)
		sum_add(&worker->never[column], 1, bytes);
	else
		sum_add(&worker->cells[cell_of(&worker->places[Y], &density->y, values[Y]) *
					       density->x.count +
				       column],
			1, bytes);
}

/* --- both passes --------------------------------------------------------------------------- */

struct crew {
	struct worker workers[SWEEP_WORKERS_MAX];
	size_t count;
	struct batch *batches;
	struct model_sum *sums; /* cells and never of all workers */
};

static void crew_deinit(struct crew *crew)
{
	free(crew->batches);
	free(crew->sums);
}
CLEAN_DEFINE_DEINIT(crew_deinit, struct crew);

static struct err *crew_run(struct crew *crew, const struct selection *selection)
{
	const uint64_t row_count = model_row_count(selection->model);

	return sweep_run(&selection->limits, div_up(row_count, MODEL_SEGMENT), work, crew->workers,
			 sizeof(*crew->workers), crew->count);
}

static struct err *extent_find(struct crew *crew, const struct selection *selection,
			       const struct density_settings *settings, struct density *density)
{
	uint64_t min[AXES] = { UINT64_MAX, UINT64_MAX }, max[AXES] = { 0 };
	struct err *err = crew_run(crew, selection);

	for (size_t i = 0; i < crew->count; i++) {
		for (int axis = X; axis < AXES; axis++) {
			min[axis] = u64_min(min[axis], crew->workers[i].min[axis]);
			max[axis] = u64_max(max[axis], crew->workers[i].max[axis]);
		}
	}
	if (settings->x == DENSITY_TIME) {
		min[X] = settings->from_ns;
		max[X] = settings->until_ns;
	}
	axis_make(&density->x, settings->x, min[X], max[X], settings->column_count);
	axis_make(&density->y, settings->y, min[Y], max[Y], settings->row_count);
	return err;
}

static struct err *cells_find(struct crew *crew, const struct selection *selection,
			      struct density *density)
{
	const size_t size = density->x.count * density->y.count;
	const size_t both = size + density->x.count;
	struct places places[AXES];
	struct err *err;

	places_fill(&places[X], &density->x);
	places_fill(&places[Y], &density->y);
	crew->sums = big_calloc(crew->count * both, sizeof(*crew->sums));
	if (!crew->sums)
		return err_nomem();
	for (size_t i = 0; i < crew->count; i++) {
		crew->workers[i].density = density;
		crew->workers[i].cells = crew->sums + i * both;
		crew->workers[i].never = crew->workers[i].cells + size;
		crew->workers[i].places = places;
		crew->workers[i].visit = cell_visit;
	}
	err = crew_run(crew, selection);
	for (size_t i = 0; i < crew->count * both && !err; i++) {
		const size_t at = i % both;

		sum_add(at < size ? &density->cells[at] : &density->never[at - size],
			crew->sums[i].count, crew->sums[i].bytes);
	}
	return err;
}

struct err *density_find(const struct selection *selection, const struct density_settings *settings,
			 struct arena *arena, struct density *density_ret)
{
	CLEAN(crew_deinit) struct crew crew = { 0 };
	struct density density;
	struct err *err;

	assert(settings->column_count >= 1 && settings->row_count >= 1);
	assert(settings->from_ns <= settings->until_ns);
	assert(settings->x != settings->y && settings->y != DENSITY_TIME);
	assert(settings->column_count <= DENSITY_SIDE_MAX);
	assert(settings->row_count <= DENSITY_SIDE_MAX);
	crew.count = sweep_workers(&selection->limits,
				   div_up(model_row_count(selection->model), MODEL_SEGMENT));
	crew.batches = calloc(crew.count, sizeof(*crew.batches));
	if (!crew.batches)
		return err_nomem();
	for (size_t i = 0; i < crew.count; i++)
		crew.workers[i] = (struct worker) {
			.selection = selection,
			.kinds = { settings->x, settings->y },
			.batch = &crew.batches[i],
			.min = { UINT64_MAX, UINT64_MAX },
			.visit = extent_visit,
		};
	err = extent_find(&crew, selection, settings, &density);
	if (err)
		return err;
	density.cells =
		arena_array(arena, density.x.count * density.y.count, sizeof(*density.cells));
	density.never = arena_array(arena, density.x.count, sizeof(*density.never));
	if (!density.cells || !density.never)
		return err_nomem();
	err = cells_find(&crew, selection, &density);
	if (settings->x != DENSITY_LIFETIME && settings->y != DENSITY_LIFETIME)
		density.never = NULL;
	if (!err)
		*density_ret = density;
	return err;
}
