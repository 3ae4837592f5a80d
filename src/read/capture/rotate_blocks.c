#include "capture/rotate_blocks.h"

#include <assert.h>

/* --- what is kept ---------------------------------------------------------------------------- */

struct err *rotate_keep(struct planner *planner, struct known *event)
{
	if (!event->is_old || event->is_kept)
		return NULL;
	event->is_kept = true;
	planner->plan->streams[event->stream].kept_count++;
	planner->records.tenures.items[event->tenure].is_kept = true;
	if (event->tag)
		planner->records.tags.items[event->tag - 1].is_kept = true;
	return rotate_bit_set(&planner->plan->streams[event->stream].events, event->ordinal);
}

/* A block has ended: both events are left out, or both are on the tape. The end may be kept already. */
static struct err *end_both(struct planner *planner, struct known *block, struct known *end)
{
	struct tape_rotated *sums = &planner->plan->sums;
	const bool is_missing = block->is_old && !block->is_kept;

	if (is_missing && end->is_old && !end->is_kept) {
		sums->allocated_count++;
		sums->allocated_bytes += block->size;
		sums->freed_count++;
		sums->freed_bytes += block->size;
		return NULL;
	}
	return is_missing ? rotate_keep(planner, block) : rotate_keep(planner, end);
}

struct known rotate_known(const struct planner *planner, const struct capture_event *event,
			  uint64_t ordinal)
{
	return (struct known) {
		.ordinal = ordinal,
		.ticks = event->ticks,
		.size = event->size,
		.stream = event->stream,
		.tenure = planner->records.tenure[event->stream],
		.tag = planner->records.tag[event->stream],
		.is_old = ordinal < planner->plan->streams[event->stream].old_count,
	};
}

/* --- blocks ---------------------------------------------------------------------------------- */

struct known *rotate_block_find(struct planner *planner, uint64_t address)
{
	const uint64_t *index = map_find(&planner->by_address, address);

	return index ? &planner->blocks.items[*index] : NULL;
}

static void block_forget(struct planner *planner, uint64_t address)
{
	uint64_t index = 0;

	if (!map_remove(&planner->by_address, address, &index))
		return;
	planner->live_count--;
	planner->live_bytes -= planner->blocks.items[index].size;
	planner->blocks.items[index].next_free = planner->free_blocks;
	planner->free_blocks = (uint32_t)index;
}

static struct err *block_add(struct planner *planner, uint64_t address, const struct known *value)
{
	uint64_t *place = map_put(&planner->by_address, address, NULL);
	uint32_t at = planner->free_blocks;

	if (!place)
		return err_nomem();
	if (at != NO_BLOCK)
		planner->free_blocks = planner->blocks.items[at].next_free;
	else if (planner->blocks.count == NO_BLOCK || !known_vec_add(&planner->blocks))
		return err_nomem();
	else
		at = (uint32_t)planner->blocks.count - 1;
	*place = at;
	planner->blocks.items[at] = *value;
	return NULL;
}

static void live_add(struct planner *planner, const struct known *block)
{
	planner->live_count++;
	planner->live_bytes += block->size;
	if (planner->live_bytes <= planner->peak_bytes)
		return;
	planner->peak_count = planner->live_count;
	planner->peak_bytes = planner->live_bytes;
	planner->peak_ticks = block->ticks;
}

/* --- events in another order than they happened ------------------------------------------------ */

static void stray_add(struct stray *strays, unsigned *count, const struct stray stray)
{
	strays[(*count)++ % DISORDER_MAX] = stray;
}

/* The stray event about this address, by another stream, a moment ago; NULL: there is none. */
static struct stray *stray_find(struct planner *planner, struct stray *strays, unsigned count,
				const struct capture_event *event)
{
	for (unsigned i = 0; i < DISORDER_MAX && i < count; i++)
		if (strays[i].address == event->address && strays[i].stream != event->stream &&
		    event->ticks - strays[i].ticks <= planner->window_ticks)
			return &strays[i];
	return NULL;
}

/* A realloc that is not over: that its address was taken shows that it has succeeded. */
static struct outgoing *outgoing_find(struct planner *planner, const struct capture_event *event)
{
	for (uint32_t i = 0; i < planner->plan->stream_count; i++) {
		struct outgoing *out = &planner->outgoing[i];

		if (out->half.is_open && !out->has_ended && i != event->stream &&
		    out->half.out.address == event->address)
			return out;
	}
	return NULL;
}

/* The address of a live block is allocated again: the free may come a moment later. */
static struct err *block_replace(struct planner *planner, const struct capture_event *event,
				 struct known *taken)
{
	struct known *block = rotate_block_find(planner, event->address);
	struct tape_rotated *sums = &planner->plan->sums;
	struct outgoing *out;
	struct err *err = NULL;

	if (!block)
		return NULL;
	out = outgoing_find(planner, event);
	if (out) {
		out->has_ended = true;
		err = end_both(planner, block, &out->event);
	} else {
		const bool is_missing = block->is_old && !block->is_kept;
		const bool is_settled = event->ticks < planner->plan->settled_ticks;

		if (is_missing && !is_settled) /* its free may be where it cannot be seen yet */
			err = rotate_keep(planner, block);
		if (is_missing && is_settled) {
			sums->allocated_count++;
			sums->allocated_bytes += block->size;
			sums->lost_free_count++;
		} else if (!err) { /* else the block before would seem to live */
			err = rotate_keep(planner, taken);
		}
		stray_add(planner->late, &planner->late_count,
			  (struct stray) { event->address, *block, event->ticks, event->stream });
	}
	block_forget(planner, event->address);
	return err;
}

struct err *rotate_block_begin(struct planner *planner, const struct capture_event *event,
			       uint64_t ordinal)
{
	struct stray *early =
		planner->has_older_blocks || planner->records.was_paused
			? NULL
			: stray_find(planner, planner->early, planner->early_count, event);
	struct known block = rotate_known(planner, event, ordinal);
	struct err *err;

	if (early) {
		early->address = 0;
		planner->plan->sums.unknown_free_count -=
			early->event.is_old && !early->event.is_kept;
		live_add(planner, &block);
		planner->live_count--;
		planner->live_bytes -= block.size;
		return end_both(planner, &block, &early->event);
	}
	err = block_replace(planner, event, &block);
	if (!err)
		err = block_add(planner, event->address, &block);
	if (!err)
		live_add(planner, &block);
	return err;
}

/* The free of a block whose address has been taken meanwhile. */
static struct err *end_late(struct planner *planner, struct stray *late, struct known *end)
{
	struct tape_rotated *sums = &planner->plan->sums;
	struct known *block = &late->event;

	late->address = 0;
	if (!block->is_old || block->is_kept)
		return rotate_keep(planner, end);
	sums->lost_free_count--;
	sums->allocated_count--;
	sums->allocated_bytes -= block->size;
	return end_both(planner, block, end);
}

struct err *rotate_block_end(struct planner *planner, const struct capture_event *event,
			     struct known *end, bool *was_known_ret)
{
	struct stray *late = stray_find(planner, planner->late, planner->late_count, event);
	struct known *block = rotate_block_find(planner, event->address);
	struct err *err;

	*was_known_ret = true;
	if (late)
		return end_late(planner, late, end);
	if (!block) {
		*was_known_ret = false;
		err = NULL;
		if (event->ticks >= planner->plan->settled_ticks)
			err = rotate_keep(planner, end); /* its allocation may still come */
		else
			planner->plan->sums.unknown_free_count += end->is_old;
		stray_add(planner->early, &planner->early_count,
			  (struct stray) { event->address, *end, event->ticks, event->stream });
		return err;
	}
	err = end_both(planner, block, end);
	block_forget(planner, event->address);
	return err;
}
