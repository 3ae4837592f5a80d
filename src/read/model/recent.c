#include "model/recent.h"

#include <assert.h>

#include "base/big.h"
#include "model/following.h"
#include "model/parts.h"

void recent_init(struct recent *recent, uint64_t begin_ticks)
{
	*recent = (struct recent) { .end_ticks = begin_ticks };
}

void recent_deinit(struct recent *recent)
{
	for (size_t i = 0; i < recent->cells.count; i++)
		free(recent->cells.items[i].changes);
	recent_cells_deinit(&recent->cells);
	big_free(recent->before, recent->before_room * sizeof(*recent->before));
}

size_t recent_bytes(const struct recent *recent)
{
	return recent->bytes + recent->before_room * sizeof(*recent->before) +
	       recent->cells.capacity * sizeof(*recent->cells.items);
}

static struct model_sum minus(struct model_sum a, struct model_sum b)
{
	return (struct model_sum) { a.count - b.count, a.bytes - b.bytes };
}

static void add(struct model_sum *to, struct model_sum from)
{
	to->count += from.count;
	to->bytes += from.bytes;
}

/* --- a new cell ----------------------------------------------------------------------------- */

/* Live bytes changed too, if anything did. */
static bool has_changed(const struct tally *before, const struct tally *now)
{
	return before->allocated.count != now->allocated.count ||
	       before->live.count != now->live.count;
}

static struct recent_change change_of(uint32_t stack, const struct tally *before,
				      const struct tally *now)
{
	const struct model_sum allocated = minus(now->allocated, before->allocated);

	return (struct recent_change) {
		.stack = stack,
		.allocated = allocated,
		.freed = minus(allocated, minus(now->live, before->live)),
		.temporary = { now->temporary_count - before->temporary_count,
			       now->temporary_bytes - before->temporary_bytes },
	};
}

static bool before_reserve(struct recent *recent, size_t count)
{
	const size_t room = u64_max(count, 2 * recent->before_room);
	void *before;

	if (count <= recent->before_room)
		return true;
	before = big_resize(recent->before, recent->before_room * sizeof(*recent->before),
			    room * sizeof(*recent->before));
	if (!before)
		return false;
	recent->before = before;
	recent->before_room = room;
	return true;
}

/* In order of stack ids. */
static bool cell_add(struct recent *recent, const struct tallies *tallies, size_t stack_count)
{
	struct recent_cell cell = { .begin_ticks = recent->end_ticks };
	size_t count = 0;

	for (uint32_t i = 1; i < tallies->count; i++)
		count += has_changed(&recent->before[i], &tallies->items[i]);
	cell.changes = malloc((count + 1) * sizeof(*cell.changes));
	if (!cell.changes)
		return false;
	for (size_t i = 0; i < stack_count && cell.count < count; i++) {
		const struct tally *now = tallies_of(tallies, (uint32_t)i);
		struct tally *before = &recent->before[tallies->seats[i]];

		if (!has_changed(before, now))
			continue;
		cell.changes[cell.count++] = change_of((uint32_t)i, before, now);
		*before = *now;
	}
	if (!recent_cells_push(&recent->cells, cell)) {
		free(cell.changes);
		return false;
	}
	recent->bytes += count * sizeof(*cell.changes);
	return true;
}

/* --- older ones ----------------------------------------------------------------------------- */

static uint64_t cell_end(const struct recent *recent, size_t i)
{
	return i + 1 < recent->cells.count ? recent->cells.items[i + 1].begin_ticks
					   : recent->end_ticks;
}

/* The later cell's changes are added to the earlier one's. */
static bool cells_join(struct recent *recent, struct recent_cell *to, struct recent_cell *from)
{
	struct recent_change *joined = malloc((to->count + from->count + 1) * sizeof(*joined));
	size_t a = 0, b = 0, count = 0;

	if (!joined)
		return false;
	while (a < to->count || b < from->count) {
		const uint32_t left = a < to->count ? to->changes[a].stack : UINT32_MAX;
		const uint32_t right = b < from->count ? from->changes[b].stack : UINT32_MAX;

		joined[count] = left <= right ? to->changes[a++] : from->changes[b++];
		if (left == right) {
			add(&joined[count].allocated, from->changes[b].allocated);
			add(&joined[count].freed, from->changes[b].freed);
			add(&joined[count].temporary, from->changes[b++].temporary);
		}
		count++;
	}
	recent->bytes -= (to->count + from->count - count) * sizeof(*joined);
	free(to->changes);
	free(from->changes);
	to->changes = joined;
	to->count = count;
	return true;
}

/* The first of them are forgotten. */
static void cells_drop(struct recent *recent, uint64_t keep_ticks, size_t bytes_max)
{
	struct recent_cells *cells = &recent->cells;
	size_t gone = 0;

	while (gone + 1 < cells->count &&
	       (recent->end_ticks - cell_end(recent, gone) > keep_ticks ||
		recent->bytes > bytes_max)) {
		recent->bytes -= cells->items[gone].count * sizeof(struct recent_change);
		free(cells->items[gone++].changes);
	}
	cells->count -= gone;
	memmove(cells->items, cells->items + gone, cells->count * sizeof(*cells->items));
}

/* Neighbours that are short for their age become one. */
static bool cells_thin(struct recent *recent)
{
	struct recent_cells *cells = &recent->cells;
	size_t kept = 0;

	for (size_t i = 1; i < cells->count; i++) {
		const uint64_t end = cell_end(recent, i);

		if (end - cells->items[kept].begin_ticks >
		    (recent->end_ticks - end) / RECENT_PART) {
			cells->items[++kept] = cells->items[i];
		} else if (!cells_join(recent, &cells->items[kept], &cells->items[i])) {
			return false; /* the model is given up */
		}
	}
	if (cells->count > 0)
		cells->count = kept + 1;
	return true;
}

bool recent_cut(struct recent *recent, const struct tallies *tallies, size_t stack_count,
		uint64_t end_ticks, uint64_t keep_ticks, size_t bytes_max)
{
	assert(end_ticks >= recent->end_ticks);
	if (!before_reserve(recent, tallies->count) || !cell_add(recent, tallies, stack_count))
		return false;
	recent->end_ticks = end_ticks;
	cells_drop(recent, keep_ticks, bytes_max);
	return cells_thin(recent);
}

/* --- windows -------------------------------------------------------------------------------- */

bool model_is_followed(const struct model *model)
{
	return model->recent != NULL;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

uint64_t model_window_begin(const struct model *model, uint64_t ns)
{
	const struct recent *recent = model->recent;
	uint64_t nearest = 0;

	assert(recent);
	for (size_t i = 0; i < recent->cells.count; i++) {
		const uint64_t begin = clock_ns(&model->clock, recent->cells.items[i].begin_ticks);

		if (distance(begin, ns) <= distance(nearest, ns))
			nearest = begin;
	}
	return nearest;
}

static void moments_of_all(const struct model *model, struct model_stack_moment *moments)
{
	for (size_t i = 0; i < model->stack_count; i++) {
		const struct model_stack_sums *sums = model_sums_of(&model->stack_sums, i);

		moments[i] = (struct model_stack_moment) {
			.allocated = sums->allocated,
			.freed = minus(sums->allocated, sums->leaked),
			.temporary = sums->temporary,
		};
	}
}

void model_window_moments(const struct model *model, uint64_t from_ns,
			  struct model_stack_moment *moments)
{
	const struct recent *recent = model->recent;

	assert(recent);
	if (from_ns == 0) {
		moments_of_all(model, moments);
		return;
	}
	memset(moments, 0, model->stack_count * sizeof(*moments));
	for (size_t i = 0; i < recent->cells.count; i++) {
		const struct recent_cell *cell = &recent->cells.items[i];

		if (clock_ns(&model->clock, cell->begin_ticks) < from_ns)
			continue;
		for (size_t j = 0; j < cell->count; j++) {
			const struct recent_change *change = &cell->changes[j];
			struct model_stack_moment *moment = &moments[change->stack];

			add(&moment->allocated, change->allocated);
			add(&moment->freed, change->freed);
			add(&moment->temporary, change->temporary);
		}
	}
}
