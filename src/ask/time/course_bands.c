/*
 * Bands at chosen moments. Live bytes at a moment are those allocated minus those freed until then;
 * both sums are independent of order, so all processors can process rows as they come.
 */
#include <assert.h>

#include "base/big.h"
#include "base/sort.h"
#include "groups/grouping.h"
#include "time/course.h"

/* --- which groups have bands ---------------------------------------------------------------- */

struct share {
	uint64_t peak_bytes;
	struct model_sum allocated;
};

static void share_add(struct share *share, struct model_sum peak, struct model_sum allocated)
{
	share->peak_bytes += peak.bytes;
	share->allocated.count += allocated.count;
	share->allocated.bytes += allocated.bytes;
}

/* Sums of groups, if known without reading rows; false: not known. */
static bool shares_known(const struct grouping *grouping, struct share *shares)
{
	const struct model *model = grouping->selection->model;
	const struct sums *sums = &grouping->selection->sums;

	if (grouping->of_stack) {
		for (size_t i = 0; i < model_stack_count(model); i++) {
			const struct model_stack_sums *at = sums_of_stack(sums, i);

			if (grouping->of_stack[i] != UINT32_MAX)
				share_add(&shares[grouping->of_stack[i]], at->peak, at->allocated);
		}
		return true;
	}
	for (size_t i = 0; i < grouping->count && grouping->by == GROUP_BY_THREAD; i++)
		share_add(&shares[i], model_thread(model, i)->peak,
			  model_thread(model, i)->allocated);
	for (size_t i = 0; i < grouping->count && grouping->by == GROUP_BY_SIZE; i++)
		share_add(&shares[i], model_size_buckets(model)[i].peak,
			  model_size_buckets(model)[i].allocated);
	return grouping->by == GROUP_BY_THREAD || grouping->by == GROUP_BY_SIZE;
}

static struct err *shares_find(const struct grouping *grouping, struct arena *arena,
			       struct share *shares)
{
	struct group_sums *matched, *all;
	struct err *err;

	if (shares_known(grouping, shares))
		return NULL;
	err = group_sums_find(grouping, arena, &matched, &all);
	for (size_t i = 0; i < grouping->count && !err; i++)
		share_add(&shares[i], matched[i].sums.peak, matched[i].sums.allocated);
	return err;
}

static int share_compare(const void *context, const void *left, const void *right)
{
	const struct share *shares = context;
	const struct share *a = &shares[*(const uint32_t *)left];
	const struct share *b = &shares[*(const uint32_t *)right];
	const int order = sort_compare_u64(b->peak_bytes, a->peak_bytes);

	return order ? order : sort_compare_u64(b->allocated.bytes, a->allocated.bytes);
}

/* Chooses the groups with bands; band_of: by group, its band or that of the rest. */
static struct err *groups_choose(const struct grouping *grouping, size_t top, struct arena *arena,
				 struct groups *groups, uint32_t *band_of)
{
	struct share *shares = arena_array(arena, grouping->count, sizeof(*shares));
	uint32_t *order = arena_array(arena, grouping->count, sizeof(*order));
	struct group *items = arena_array(arena, top, sizeof(*items));
	struct err *err;

	if (!shares || !order || !items)
		return err_nomem();
	err = shares_find(grouping, arena, shares);
	if (err)
		return err;
	for (uint32_t i = 0; i < grouping->count; i++) {
		if (shares[i].allocated.count > 0)
			order[groups->total_count++] = i;
	}
	if (!sort_stable(order, groups->total_count, sizeof(*order), share_compare, shares))
		return err_nomem();
	groups->by = grouping->by;
	groups->items = items;
	groups->count = u64_min(groups->total_count, top);
	for (size_t i = 0; i < grouping->count; i++)
		band_of[i] = (uint32_t)groups->count;
	for (uint32_t i = 0; i < groups->count; i++) {
		items[i].key = grouping_key(grouping, order[i]);
		items[i].site = grouping->sites ? grouping->sites[order[i]] : NULL;
		band_of[order[i]] = i;
	}
	return NULL;
}

struct err *course_bands_name(const struct selection *selection, const struct groups *groups,
			      struct arena *arena, struct course *course)
{
	for (size_t i = 0; i < groups->count; i++) {
		CLEAN(str_deinit) struct str title = { 0 };

		group_title(selection, groups, &groups->items[i], &title);
		course->band_titles[i] = arena_strdup(arena, str_text(&title));
		if (title.failed || !course->band_titles[i])
			return err_nomem();
	}
	course->band_titles[groups->count] = "all others";
	course->has_rest = groups->total_count > groups->count;
	course->band_count = groups->count + course->has_rest;
	course->band_groups = *groups;
	return NULL;
}

/* --- their bytes ---------------------------------------------------------------------------- */

struct changes {
	const struct course_settings *settings;
	const struct model_peak *peaks;
	const uint32_t *band_of;
	size_t band_count;
	double columns_per_ns;
	uint64_t *values; /* by column: bands. Allocated minus freed since the last */
};

/* The first moment after the row's allocation; column_count: none. Rows are in time order. */
static size_t column_of_row(const struct changes *changes, uint64_t row)
{
	size_t low = 0, high = changes->settings->column_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (changes->peaks[middle].row_count > row)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The first moment at which a block freed at ns is gone: in the column of ns or the next. */
static size_t column_of_free(const struct changes *changes, uint64_t ns)
{
	const size_t count = changes->settings->column_count;
	size_t column;

	if (ns >= changes->settings->until_ns)
		return count;
	if (ns <= changes->settings->from_ns)
		return changes->peaks[0].gone_ns >= ns ? 0 : 1;
	column = (size_t)((double)(ns - changes->settings->from_ns) * changes->columns_per_ns);
	column = u64_min(column, count - 1);
	while (column > 0 && changes->peaks[column - 1].gone_ns >= ns)
		column--;
	while (column < count && changes->peaks[column].gone_ns < ns)
		column++;
	return column;
}

static void visit(struct group_worker *worker, const uint32_t *keys, const uint64_t *bits)
{
	const struct changes *changes = worker->context;
	const size_t count = changes->settings->column_count;
	struct batch *batch = worker->batch;
	const uint64_t *size = batch_column(batch, MODEL_SIZE);
	const uint64_t *end = batch_column(batch, MODEL_FREE_NS);
	size_t column = column_of_row(changes, batch->first);

	(void)bits;
	for (size_t i = 0; i < batch->count && column < count; i++) {
		const uint32_t band = changes->band_of[keys[i]];
		size_t gone;

		while (column < count && changes->peaks[column].row_count <= batch->first + i)
			column++;
		if (column == count)
			break;
		changes->values[column * changes->band_count + band] += size[i];
		gone = end[i] == MODEL_NEVER ? count : column_of_free(changes, end[i]);
		if (gone < count)
			changes->values[gone * changes->band_count + band] -= size[i];
	}
}

/* Sums all workers' changes, and accumulates them over the columns. */
static void sum_up(const struct changes *changes, size_t worker_count, uint64_t *bands)
{
	const size_t band_count = changes[0].band_count;
	const size_t size = changes[0].settings->column_count * band_count;

	for (size_t i = 0; i < size; i++) {
		bands[i] = i < band_count ? 0 : bands[i - band_count];
		for (size_t worker = 0; worker < worker_count; worker++)
			bands[i] += changes[worker].values[i];
	}
}

static struct err *changes_find(const struct grouping *grouping, struct changes *common,
				uint64_t *bands)
{
	const size_t size = common->settings->column_count * common->band_count;
	const size_t count = group_workers_count(grouping, size * sizeof(*bands));
	CLEAN(free) uint64_t *own = big_calloc(count * size + 1, sizeof(*own));
	struct group_worker workers[SWEEP_WORKERS_MAX];
	struct changes changes[SWEEP_WORKERS_MAX];
	struct err *err;

	if (!own)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		changes[i] = *common;
		changes[i].values = own + i * size;
		workers[i] = (struct group_worker) { .grouping = grouping,
						     .visit = visit,
						     .context = &changes[i] };
	}
	err = group_workers_run(workers, count);
	if (!err)
		sum_up(changes, count, bands);
	return err;
}

struct err *course_bands_at(const struct selection *selection,
			    const struct course_settings *settings, const struct model_peak *peaks,
			    struct arena *arena, struct course *course)
{
	const size_t top = u64_max(u64_min(settings->top, COURSE_BANDS_MAX), 1);
	struct changes changes = { .settings = settings, .peaks = peaks };
	struct groups groups = { .mode = settings->mode };
	struct grouping grouping;
	uint32_t *band_of;
	uint64_t *bands;
	struct err *err = grouping_init(&grouping, selection, settings->by, settings->mode, arena);

	assert(settings->column_count > 0);
	assert(settings->has_bands);
	assert(selection_is_all(selection) && !settings->is_by_number);
	if (err)
		return err;
	band_of = arena_array(arena, grouping.count, sizeof(*band_of));
	if (!band_of)
		return err_nomem();
	err = groups_choose(&grouping, top, arena, &groups, band_of);
	if (!err)
		err = course_bands_name(selection, &groups, arena, course);
	if (err)
		return err;
	bands = arena_array(arena, settings->column_count * (course->band_count + 1),
			    sizeof(*bands));
	if (!bands)
		return err_nomem();
	changes.band_of = band_of;
	changes.band_count = course->band_count;
	changes.columns_per_ns =
		(double)settings->column_count / (double)(settings->until_ns - settings->from_ns);
	err = course->band_count ? changes_find(&grouping, &changes, bands) : NULL;
	course->bands = bands;
	return err;
}
