#include "select/without.h"

#include <assert.h>

#include "base/vec.h"

enum { HEIGHTS_SPARE = 1024 }; /* of the stack, beyond two a group */

/* Live bytes after an allocation. */
struct height {
	uint64_t at; /* number of the event */
	uint64_t bytes;
	uint64_t ns;
};

VEC_DEFINE(heights, struct height);

struct left_out {
	uint64_t live;
	uint64_t last; /* number of the group's last event; 0: none yet */
};

/*
 * heights are in the order of events, and each is exceeded by none after it: the first one after
 * some event is the highest since then, and the earliest of equal ones.
 */
struct player {
	struct heights heights;
	struct left_out *groups;
	size_t group_count;
	struct peak *peaks;
	uint64_t at;
	uint64_t live;
};

static size_t height_after(const struct heights *heights, uint64_t at)
{
	size_t low = 0, high = heights->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (heights->items[middle].at > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Ends a time in which the group had no event: what was the most of all others in it? */
static void group_settle(struct player *player, uint32_t key)
{
	const struct left_out *group = &player->groups[key];
	const struct heights *heights = &player->heights;
	const size_t i = height_after(heights, group->last);
	struct peak *peak = &player->peaks[key];
	uint64_t others = 0;

	if (i == heights->count)
		return;
	if (heights->items[i].bytes >
	    group->live) /* a damaged index may have frees of other rows */
		others = heights->items[i].bytes - group->live;
	if (others > peak->bytes || peak->ns == UINT64_MAX)
		*peak = (struct peak) { others, heights->items[i].ns };
}

/* Keeps the heights that some group would be told, and the last one. */
static bool heights_thin(struct player *player)
{
	struct heights *heights = &player->heights;
	CLEAN(free) bool *keeps = calloc(heights->count, sizeof(*keeps));
	size_t count = 0;

	if (!keeps)
		return false;
	keeps[heights->count - 1] = true;
	for (size_t i = 0; i < player->group_count; i++) {
		const size_t found = height_after(heights, player->groups[i].last);

		if (found < heights->count)
			keeps[found] = true;
	}
	for (size_t i = 0; i < heights->count; i++)
		if (keeps[i])
			heights->items[count++] = heights->items[i];
	heights->count = count;
	return true;
}

static bool height_push(struct player *player, uint64_t ns)
{
	struct heights *heights = &player->heights;

	while (heights->count > 0 && heights->items[heights->count - 1].bytes < player->live)
		heights->count--;
	if (!heights_push(heights, (struct height) { player->at, player->live, ns }))
		return false;
	return heights->count < 2 * player->group_count + HEIGHTS_SPARE || heights_thin(player);
}

static bool event_play(struct player *player, const struct keyed_event *event, struct peak *peak)
{
	const bool has_group = event->key != WITHOUT_NO_GROUP;
	struct left_out *group = has_group ? &player->groups[event->key] : NULL;

	assert(!has_group || event->key < player->group_count);
	if (has_group) {
		group_settle(player, event->key);
		group->live += event->is_free ? -event->bytes : event->bytes;
		group->last = player->at + 1;
	}
	player->at++;
	if (event->is_free) {
		player->live -= event->bytes;
		return true;
	}
	player->live += event->bytes;
	if (player->live > peak->bytes || peak->ns == UINT64_MAX)
		*peak = (struct peak) { player->live, event->ns };
	return height_push(player, event->ns);
}

struct err *without_find(const struct facts *facts, keyed_keys *keys, const void *context,
			 size_t group_count, struct without *without)
{
	CLEAN(keyed_destroy) struct keyed *keyed = keyed_create(facts, keys, context);
	CLEAN(free) struct left_out *groups = calloc(group_count + 1, sizeof(*groups));
	struct player player = { .groups = groups,
				 .group_count = group_count,
				 .peaks = without->groups };
	struct keyed_event event;
	bool ok = keyed && groups;

	without->peak = (struct peak) { 0, UINT64_MAX };
	for (size_t i = 0; i < group_count; i++)
		without->groups[i] = (struct peak) { 0, UINT64_MAX };
	while (ok && keyed_next(keyed, &event))
		ok = event_play(&player, &event, &without->peak);
	for (uint32_t i = 0; ok && i < group_count; i++)
		group_settle(&player, i);
	heights_deinit(&player.heights);
	return ok ? keyed->err : err_nomem();
}
