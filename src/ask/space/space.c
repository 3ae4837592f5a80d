#include "space/space.h"

#include <assert.h>

/* If one of so many rows is wanted, reading all is faster. */
enum { READ_SHARE = 16 };

struct space {
	const struct model *model;
	struct mappings *mappings;
	struct space_pages pages;
	struct space_live live;
	size_t next_snapshot;
	struct space_mark_vec marks;
	const struct space_mark_vec *known; /* another space's marks; NULL: none */
	size_t next_known;
	uint64_t next_row; /* earlier allocations, and frees before next_free, are in pages */
	uint64_t next_free;
	/* a batch */
	uint64_t rows[MODEL_BATCH];
	uint64_t values[MODEL_BATCH];
	uint64_t address[MODEL_BATCH];
	uint64_t bytes[MODEL_BATCH];
	uint64_t usable[MODEL_BATCH];
};

void space_destroy(struct space *space)
{
	if (!space)
		return;
	mappings_destroy(space->mappings);
	space_pages_deinit(&space->pages);
	space_mark_vec_deinit(&space->marks);
	free(space);
}

struct err *space_create(const struct model *model, struct space **space_ret)
{
	CLEAN(space_destroy) struct space *space = calloc(1, sizeof(*space));
	struct err *err;

	assert(model);
	if (!space)
		return err_nomem();
	space->model = model;
	err = mappings_create(model, &space->mappings);
	if (err)
		return err;
	*space_ret = steal(space);
	return NULL;
}

const struct mappings *space_mappings(const struct space *space)
{
	return space->mappings;
}

const struct space_pages *space_pages(const struct space *space)
{
	return &space->pages;
}

struct space_live space_live(const struct space *space)
{
	return space->live;
}

uint64_t space_usable(uint64_t bytes, uint64_t usable)
{
	static const uint64_t SLACK_MAX = UINT64_C(1) << 31;

	return usable - bytes <= SLACK_MAX ? usable : bytes;
}

/* --- blocks -------------------------------------------------------------------------------- */

static void gather(struct space *space, size_t count)
{
	model_rows_gather(space->model, MODEL_ADDRESS, space->rows, count, space->address);
	model_rows_gather(space->model, MODEL_SIZE, space->rows, count, space->bytes);
	model_rows_gather(space->model, MODEL_USABLE, space->rows, count, space->usable);
	for (size_t i = 0; i < count; i++)
		space->usable[i] = space_usable(space->bytes[i], space->usable[i]);
}

static void read_chosen(struct space *space, enum model_column column, size_t row_count,
			size_t count, uint64_t *values)
{
	model_rows_read(space->model, column, space->next_row, row_count, values);
	for (size_t i = 0; i < count; i++)
		values[i] = values[space->rows[i] - space->next_row];
}

/* The same for rows of the next row_count, which are read in order if many of them are wanted. */
static void gather_next(struct space *space, size_t row_count, size_t count)
{
	if (count < row_count / READ_SHARE) {
		gather(space, count);
		return;
	}
	read_chosen(space, MODEL_ADDRESS, row_count, count, space->address);
	read_chosen(space, MODEL_SIZE, row_count, count, space->bytes);
	read_chosen(space, MODEL_USABLE, row_count, count, space->usable);
	for (size_t i = 0; i < count; i++)
		space->usable[i] = space_usable(space->bytes[i], space->usable[i]);
}

static bool add(struct space *space, size_t row_count, size_t count)
{
	gather_next(space, row_count, count);
	for (size_t i = 0; i < count; i++) {
		if (!space_pages_add(&space->pages, space->address[i], space->usable[i]))
			return false;
		space->live.count++;
		space->live.bytes += space->bytes[i];
		space->live.usable += space->usable[i];
	}
	return true;
}

static void take_away(struct space *space, size_t count)
{
	gather(space, count);
	for (size_t i = 0; i < count; i++) {
		space_pages_remove(&space->pages, space->address[i], space->usable[i]);
		space->live.count--;
		space->live.bytes -= space->bytes[i];
		space->live.usable -= space->usable[i];
	}
}

/* Applies frees of counted blocks; newer rows were allocated and freed in between. */
static void take_frees(struct space *space, uint64_t end)
{
	while (space->next_free < end) {
		const size_t count = u64_min(end - space->next_free, MODEL_BATCH);
		size_t kept = 0;

		model_frees_read(space->model, space->next_free, count, space->rows);
		for (size_t i = 0; i < count; i++)
			if (space->rows[i] < space->next_row)
				space->rows[kept++] = space->rows[i];
		take_away(space, kept);
		space->next_free += count;
	}
}

static bool take_allocations(struct space *space, uint64_t end, uint64_t ns)
{
	while (space->next_row < end) {
		const size_t count = u64_min(end - space->next_row, MODEL_BATCH);
		size_t kept = 0;

		model_rows_read(space->model, MODEL_FREE_NS, space->next_row, count, space->values);
		for (size_t i = 0; i < count; i++)
			if (space->values[i] >= ns)
				space->rows[kept++] = space->next_row + i;
		if (!add(space, count, kept))
			return false;
		space->next_row += count;
	}
	return true;
}

/* Most blocks come and go between two requested moments: they cost one comparison. */
struct err *space_advance_blocks(struct space *space, uint64_t ns)
{
	const uint64_t row_end = model_row_at(space->model, ns);

	take_frees(space, model_free_at(space->model, ns));
	return take_allocations(space, row_end, ns) ? NULL : err_nomem();
}

/* --- snapshots ----------------------------------------------------------------------------- */

/* Mappings that contain blocks belong to the allocator, whoever created them. */
static bool mark_blocks(struct space *space, size_t snapshot)
{
	struct mappings_parts parts = mappings_parts_begin(space->mappings);
	struct mappings_part part;

	while (mappings_parts_next(&parts, &part)) {
		if (part.mapping != UINT32_MAX && part.extent->prot &&
		    !mappings_all(space->mappings)->items[part.mapping].holds_blocks &&
		    space_pages_any(&space->pages, part.begin, part.end)) {
			const struct space_mark mark = { (uint32_t)snapshot, part.mapping };

			mappings_mark_blocks(space->mappings, part.mapping);
			if (!space_mark_vec_push(&space->marks, mark))
				return false;
		}
	}
	return true;
}

struct space_mark_vec space_take_marks(struct space *space)
{
	struct space_mark_vec marks = space->marks;

	space->marks = (struct space_mark_vec) { 0 };
	return marks;
}

void space_follow_marks(struct space *space, const struct space_mark_vec *marks)
{
	assert(space->next_snapshot == 0);
	space->known = marks;
}

static void follow_marks(struct space *space, size_t snapshot)
{
	const struct space_mark_vec *known = space->known;

	for (; space->next_known < known->count &&
	       known->items[space->next_known].snapshot <= snapshot;
	     space->next_known++)
		mappings_mark_blocks(space->mappings, known->items[space->next_known].mapping);
}

struct err *space_pass_snapshot(struct space *space, size_t snapshot)
{
	struct err *err;

	if (!space->known)
		return space_advance_snapshot(space, snapshot);
	assert(snapshot >= space->next_snapshot);
	err = mappings_advance_snapshot(space->mappings, snapshot);
	if (!err)
		follow_marks(space, snapshot);
	space->next_snapshot = snapshot + 1;
	return err;
}

uint64_t space_snapshot_ns(const struct mappings_snapshot *snapshot)
{
	return snapshot->begin_ns / 2 + snapshot->end_ns / 2;
}

struct err *space_advance_snapshot(struct space *space, size_t snapshot)
{
	const struct mappings_snapshot *at = &mappings_snapshots(space->mappings)->items[snapshot];
	struct err *err = mappings_advance_snapshot(space->mappings, snapshot);

	assert(snapshot < mappings_snapshots(space->mappings)->count);
	assert(snapshot >= space->next_snapshot);
	if (!err)
		err = space_advance_blocks(space, space_snapshot_ns(at));
	if (!err && !mark_blocks(space, snapshot))
		err = err_nomem();
	space->next_snapshot = snapshot + 1;
	return err;
}

struct err *space_advance_calls(struct space *space, uint64_t ns)
{
	return mappings_advance(space->mappings, ns);
}

struct err *space_advance(struct space *space, uint64_t ns)
{
	const struct mappings_snapshot_vec *snapshots = mappings_snapshots(space->mappings);
	struct err *err = NULL;

	assert(space->next_snapshot <= snapshots->count);
	while (space->next_snapshot < snapshots->count && !err &&
	       snapshots->items[space->next_snapshot].end_ns <= ns)
		err = space_advance_snapshot(space, space->next_snapshot);
	if (!err)
		err = mappings_advance(space->mappings, ns);
	if (!err)
		err = space_advance_blocks(space, ns);
	if (!err && !mark_blocks(space, space->next_snapshot))
		err = err_nomem();
	return err;
}

/* --- parts --------------------------------------------------------------------------------- */

struct space_parts space_parts_begin(const struct space *space)
{
	return (struct space_parts) { .space = space,
				      .parts = mappings_parts_begin(space->mappings) };
}

static uint64_t live_in_runs(const struct space *space, const struct mappings_part *part)
{
	struct mappings_runs runs = mappings_runs_begin(part->extent);
	uint64_t begin, end, live = 0;

	while (mappings_runs_next(&runs, &begin, &end)) {
		begin = u64_max(begin, part->begin);
		end = u64_min(end, part->end);
		if (begin < end)
			live += space_pages_sum(&space->pages, begin, end);
	}
	return live;
}

bool space_parts_next(struct space_parts *parts, struct space_part *part_ret)
{
	const struct space *space = parts->space;
	const struct mapping_vec *all = mappings_all(space->mappings);
	struct mappings_part part;

	if (!mappings_parts_next(&parts->parts, &part))
		return false;
	*part_ret = (struct space_part) {
		.begin = part.begin,
		.end = part.end,
		.mapping = part.mapping,
		.resident = mappings_extent_resident(part.extent, part.begin, part.end),
		.live = space_pages_sum(&space->pages, part.begin, part.end),
		.is_exact = mappings_extent_is_exact(part.extent),
		.kind = part.mapping == UINT32_MAX ? MAPPING_UNSEEN
						   : mapping_kind(&all->items[part.mapping]),
	};
	part_ret->anonymous = u64_min(part.extent->anonymous_bytes, part_ret->resident);
	part_ret->live_resident = part.extent->runs ? live_in_runs(space, &part)
						    : u64_min(part_ret->live, part_ret->resident);
	return true;
}
