/*
 * What lives in a process when it forks: its child has that, too, and it is on the parent's tape
 * alone. Exact where the fork is recorded: as of that record, before which the other threads of the
 * parent may have run on for as long as the fork took. A child that was made without a call of
 * fork() has what lived when its own tape begins.
 */
#include "convert/merge_parts.h"

/* Bit of a size in the map: the parent's block, as it was when this process was forked. */
static const uint64_t INHERITED = UINT64_C(1) << 63;

static bool copy_entry(void *context, uint64_t key, uint64_t *value)
{
	struct map *to = context;
	uint64_t *place = map_put(to, key, NULL);

	if (place)
		*place = *value | INHERITED;
	return place != NULL;
}

/* False: out of memory. */
static bool live_copy(const struct map *from, struct map *to)
{
	map_deinit(to);
	*to = (struct map) { .count = 0 };
	map_each(from, copy_entry, to);
	return to->count == from->count;
}

static bool child_take(struct merge *merge, size_t child, bool is_seen)
{
	struct merge_member *member = &merge->members[child];

	member->sums.inherited_bytes = merge->live_bytes;
	member->was_forked_seen |= is_seen;
	return !member->forks || live_copy(&merge->live, &member->inherited);
}

static bool is_child(const struct merge *merge, size_t index)
{
	const struct session_member *member = &merge->session->members[index];

	return member->start == TAPE_MEMBER_FORKED && member->parent == merge->index;
}

/* Children that began before this moment. */
static bool children_begin(struct merge *merge, uint64_t ns)
{
	for (; merge->next_child < merge->session->count; merge->next_child++) {
		const size_t child = merge->next_child;
		const uint64_t begin_ns =
			merge->session->members[child].start_monotonic_ns - merge->begin_ns;

		if (begin_ns > ns)
			return true;
		if (is_child(merge, child) && !merge->members[child].was_forked_seen &&
		    !child_take(merge, child, false))
			return false;
	}
	return true;
}

bool merge_live_begin(struct merge *merge)
{
	struct merge_member *member = merge_now(merge);

	merge->live = member->inherited; /* taken over */
	member->inherited = (struct map) { .count = 0 };
	merge->live_bytes = merge->live.count ? member->sums.inherited_bytes : 0;
	merge->next_child = merge->index + 1;
	return true;
}

static bool block_put(struct merge *merge, uint64_t address, uint64_t size)
{
	bool is_new;
	uint64_t *place = map_put(&merge->live, address, &is_new);

	if (!place)
		return false;
	if (!is_new)
		merge->live_bytes -= *place & ~INHERITED; /* its free was not seen */
	*place = size;
	merge->live_bytes += size;
	return true;
}

static bool block_remove(struct merge *merge, uint64_t address, uint64_t *size_ret)
{
	if (!map_remove(&merge->live, address, size_ret))
		return false;
	*size_ret &= ~INHERITED;
	merge->live_bytes -= *size_ret;
	return true;
}

/* The old block of a realloc that failed, or never returned. False: out of memory. */
static bool half_undo(struct merge *merge, struct merge_half *half)
{
	const bool has_block = half->has_block;

	half->has_block = false;
	return !has_block || block_put(merge, half->address, half->size);
}

static bool visit_own(void *context, uint64_t address, uint64_t *size)
{
	if (!(*size & INHERITED))
		merge_block_gone(context, address);
	return true;
}

void merge_live_end(struct merge *merge, bool has_ended)
{
	if (merge_now(merge)->forks)
		children_begin(merge, UINT64_MAX);
	for (size_t i = 0; has_ended && i < merge->streams.count; i++)
		has_ended = half_undo(merge, &merge->streams.items[i].half);
	if (has_ended)
		map_each(&merge->live, visit_own, merge);
	map_deinit(&merge->live);
	merge->live = (struct map) { .count = 0 };
}

bool merge_live_event(struct merge *merge, const struct capture_event *event, uint64_t ns)
{
	struct merge_half *half = &merge->streams.items[event->stream].half;
	uint64_t size;

	if (event->address == 0)
		return true;
	if (merge_now(merge)->forks && !children_begin(merge, ns))
		return false;
	switch (tape_fn_class(event->fn)) {
	case TAPE_CLASS_ALLOC:
	case TAPE_CLASS_REALLOC_IN:
		half->has_block &= tape_fn_class(event->fn) == TAPE_CLASS_ALLOC;
		return block_put(merge, event->address, event->size);
	case TAPE_CLASS_FREE:
		block_remove(merge, event->address, &size);
		return true;
	case TAPE_CLASS_REALLOC_OUT:
		half->address = event->address;
		half->has_block = block_remove(merge, event->address, &half->size);
		return true;
	case TAPE_CLASS_REALLOC_FAIL:
		return half_undo(merge, half);
	case TAPE_CLASS_LATENCY:
	case TAPE_CLASS_EXTENDED:
	case TAPE_CLASS_INVALID:
		break;
	}
	return true;
}

bool merge_live_fork(struct merge *merge, uint32_t pid, uint64_t ns)
{
	static const uint64_t late_ns = 1000000000; /* the record may wait for the parent's turn */

	if (!merge_now(merge)->forks)
		return true;
	for (size_t i = merge->index + 1; i < merge->session->count; i++) {
		const struct session_member *member = &merge->session->members[i];
		const uint64_t begin_ns = member->start_monotonic_ns - merge->begin_ns;

		if (begin_ns > ns + late_ns)
			break;
		if (member->pid == pid && is_child(merge, i) && !merge->members[i].was_forked_seen)
			return child_take(merge, i, true);
	}
	return true;
}
