#include "time/course.h"

#include <assert.h>

#include "base/number.h"
#include "groups/grouping.h"
#include "select/playback.h"

struct sweep {
	const struct selection *selection;
	const struct course_settings *settings;
	const struct grouping *grouping; /* NULL: no bands */
	const uint32_t *band_of;	 /* by group: its band */
	struct course *course;
	struct playback *playback;
	struct batch batch;
	uint32_t allocation_bands[MODEL_BATCH]; /* of the rows in the current batch */
	uint32_t free_bands[MODEL_BATCH];
	bool is_inside; /* within the columns */
	uint64_t live_bytes;
	uint64_t live_count;
	uint64_t live_bands[COURSE_BANDS_MAX + 1];
	uint64_t number; /* of allocations so far */
	size_t column;
	struct course_column *columns;
	uint64_t *bands; /* for all columns */
	uint64_t *peak_bands;
};

static void bands_read(void *context, const struct playback_lane *lane)
{
	struct sweep *sweep = context;
	uint32_t *bands = lane->is_frees ? sweep->free_bands : sweep->allocation_bands;

	batch_list(&sweep->batch, sweep->selection->facts, lane->rows, lane->count);
	grouping_keys(sweep->grouping, &sweep->batch, bands);
	for (size_t i = 0; i < lane->count; i++)
		bands[i] = sweep->band_of[bands[i]];
}

/* --- columns -------------------------------------------------------------------------------- */

static void keep_max(struct sweep *sweep)
{
	struct course_column *column = &sweep->columns[sweep->column];

	column->live_max = sweep->live_bytes;
	if (sweep->grouping)
		memcpy(sweep->bands + sweep->column * sweep->course->band_count, sweep->live_bands,
		       sweep->course->band_count * sizeof(*sweep->bands));
}

static void keep_peak(struct sweep *sweep, uint64_t ns)
{
	struct course *course = sweep->course;

	course->peak_bytes = sweep->live_bytes;
	course->peak_ns = ns;
	course->peak_number = sweep->number;
	if (sweep->grouping)
		memcpy(sweep->peak_bands, sweep->live_bands,
		       course->band_count * sizeof(*sweep->bands));
}

static void column_begin(struct sweep *sweep, size_t index, uint64_t ns)
{
	struct course_column *column = &sweep->columns[index];

	sweep->column = index;
	column->begin_ns = ns;
	column->live_min = column->live_end = sweep->live_bytes;
	column->live_count_end = sweep->live_count;
	keep_max(sweep);
}

static uint64_t column_ns(const struct sweep *sweep, size_t index)
{
	const struct course_settings *settings = sweep->settings;

	return settings->from_ns +
	       u64_mul_div(settings->until_ns - settings->from_ns, index, settings->column_count);
}

/* Advances to the column with ns; columns in between had no events. */
static void go_to_ns(struct sweep *sweep, uint64_t ns)
{
	const size_t count = sweep->settings->column_count;

	if (!sweep->is_inside && ns >= sweep->settings->from_ns) {
		sweep->is_inside = true;
		sweep->course->first_number = sweep->number;
		keep_peak(sweep, sweep->settings->from_ns);
		column_begin(sweep, 0, sweep->settings->from_ns);
	}
	if (sweep->settings->is_by_number || !sweep->is_inside)
		return;
	while (sweep->column + 1 < count && ns >= column_ns(sweep, sweep->column + 1))
		column_begin(sweep, sweep->column + 1, column_ns(sweep, sweep->column + 1));
}

/* A column by number starts with its first allocation. */
static void go_to_number(struct sweep *sweep, uint64_t ns)
{
	const struct course *course = sweep->course;
	const uint64_t index = sweep->number - course->first_number;
	size_t column;

	if (!sweep->settings->is_by_number || !sweep->is_inside || course->number_count == 0)
		return;
	column = u64_min(u64_mul_div(index, sweep->settings->column_count, course->number_count),
			 sweep->settings->column_count - 1);
	while (sweep->column < column)
		column_begin(sweep, sweep->column + 1, ns);
}

static void allocate(struct sweep *sweep, const struct playback_lane *lane, size_t i)
{
	const uint64_t bytes = lane->bytes[i], ns = lane->ns[i];
	struct course_column *column;

	go_to_ns(sweep, ns);
	go_to_number(sweep, ns);
	sweep->live_bytes += bytes;
	sweep->live_count++;
	sweep->number++;
	if (sweep->grouping)
		sweep->live_bands[sweep->allocation_bands[i]] += bytes;
	if (!sweep->is_inside)
		return;
	column = &sweep->columns[sweep->column];
	column->allocated.count++;
	column->allocated.bytes += bytes;
	column->live_end = sweep->live_bytes;
	column->live_count_end = sweep->live_count;
	if (sweep->live_bytes > column->live_max)
		keep_max(sweep);
	if (sweep->live_bytes > sweep->course->peak_bytes)
		keep_peak(sweep, ns);
}

static void release(struct sweep *sweep, const struct playback_lane *lane, size_t i)
{
	struct course_column *column;

	go_to_ns(sweep, lane->ns[i]);
	sweep->live_bytes -= lane->bytes[i];
	sweep->live_count--;
	if (sweep->grouping)
		sweep->live_bands[sweep->free_bands[i]] -= lane->bytes[i];
	if (!sweep->is_inside)
		return;
	column = &sweep->columns[sweep->column];
	column->free_count++;
	column->live_end = sweep->live_bytes;
	column->live_count_end = sweep->live_count;
	column->live_min = u64_min(column->live_min, sweep->live_bytes);
}

static void course_play(struct sweep *sweep)
{
	const uint64_t until = sweep->settings->until_ns;
	const struct playback_lane *lane;

	while ((lane = playback_next(sweep->playback, until))) {
		if (lane->is_frees)
			release(sweep, lane, playback_at(lane));
		else
			allocate(sweep, lane, playback_at(lane));
	}
	go_to_ns(sweep, until - 1);
	while (sweep->column + 1 < sweep->settings->column_count) /* by number: too few */
		column_begin(sweep, sweep->column + 1, until);
}

/* --- bands ---------------------------------------------------------------------------------- */

/* Chooses the groups that have their own bands. */
static struct err *bands_choose(struct sweep *sweep, struct grouping *grouping, struct arena *arena)
{
	const struct course_settings *settings = sweep->settings;
	const struct group_settings wanted = {
		.by = settings->by,
		.mode = settings->mode,
		.order = { .key = GROUP_PEAK_SIZE },
		.count = u64_max(u64_min(settings->top, COURSE_BANDS_MAX), 1),
	};
	struct groups groups;
	uint32_t *band_of;
	struct err *err =
		grouping_init(grouping, sweep->selection, settings->by, settings->mode, arena);

	if (!err)
		err = groups_find(sweep->selection, &wanted, arena, &groups);
	if (!err)
		err = course_bands_name(sweep->selection, &groups, arena, sweep->course);
	if (err)
		return err;
	band_of = arena_array(arena, grouping->count, sizeof(*band_of));
	if (!band_of)
		return err_nomem();
	for (uint32_t i = 0; i < grouping->count; i++) {
		uint32_t band = 0;

		while (band < groups.count && groups.items[band].key != grouping_key(grouping, i))
			band++;
		band_of[i] = band;
	}
	sweep->grouping = grouping;
	sweep->band_of = band_of;
	sweep->playback->filled = bands_read;
	sweep->playback->context = sweep;
	return NULL;
}

static struct err *sweep_init(struct sweep *sweep, struct arena *arena)
{
	const struct course_settings *settings = sweep->settings;
	struct course *course = sweep->course;

	sweep->columns = arena_array(arena, settings->column_count, sizeof(*sweep->columns));
	sweep->bands = arena_array(arena, settings->column_count * (course->band_count + 1),
				   sizeof(*sweep->bands));
	sweep->peak_bands = arena_array(arena, course->band_count + 1, sizeof(*sweep->bands));
	if (!sweep->columns || !sweep->bands || !sweep->peak_bands)
		return err_nomem();
	course->columns = sweep->columns;
	course->column_count = settings->column_count;
	course->end_ns = settings->until_ns;
	course->bands = sweep->bands;
	course->peak_bands = sweep->peak_bands;
	return NULL;
}

/* Number of selected rows before a row. */
static uint64_t rank_of(const struct selection *selection, uint64_t row)
{
	uint64_t segment = row / MODEL_SEGMENT, count;

	if (!selection->bits)
		return row;
	count = segment > 0 ? selection->segment_ends[segment - 1] : 0;
	for (uint64_t i = segment * MODEL_SEGMENT; i < row; i++)
		count += selection_has(selection, i);
	return count;
}

static uint64_t numbers_between(const struct selection *selection, uint64_t from_ns,
				uint64_t until_ns)
{
	return rank_of(selection, model_row_at(selection->model, until_ns)) -
	       rank_of(selection, model_row_at(selection->model, from_ns));
}

struct err *course_find(const struct selection *selection, const struct course_settings *settings,
			struct arena *arena, struct course *course_ret)
{
	CLEAN(playback_destroy)
	struct playback *playback = playback_create(selection->model, selection);
	CLEAN(free) struct sweep *sweep = calloc(1, sizeof(*sweep));
	struct course course = { 0 };
	struct grouping grouping;
	struct err *err = NULL;

	assert(settings->from_ns <= settings->until_ns);
	assert(settings->column_count > 0);
	assert(!settings->has_bands || (unsigned)settings->by < GROUP_BYS);
	if (!sweep || !playback)
		return err_nomem();
	sweep->playback = playback;
	sweep->selection = selection;
	sweep->settings = settings;
	sweep->course = &course;
	course.number_count = numbers_between(selection, settings->from_ns, settings->until_ns);
	if (settings->has_bands)
		err = bands_choose(sweep, &grouping, arena);
	if (!err)
		err = sweep_init(sweep, arena);
	if (err)
		return err;
	course_play(sweep);
	assert(course.column_count <= settings->column_count);
	*course_ret = course;
	return NULL;
}
