/* Pages of groups that were found before. */
#include <assert.h>

#include "base/sort.h"
#include "groups/grouping.h"

struct err *groups_add_lifetimes(const struct selection *selection, struct groups *groups,
				 enum walk_mode mode, struct arena *arena)
{
	struct grouping grouping;
	struct err *err = grouping_init(&grouping, selection, groups->by, mode, arena);
	uint32_t *number_of;

	assert(groups->count <= groups->total_count);
	if (err)
		return err;
	number_of = arena_array(arena, grouping.count, sizeof(*number_of));
	if (!number_of)
		return err_nomem();
	err = grouping_numbers(&grouping, groups->items, groups->count, number_of);
	if (err)
		return err;
	return group_lifetimes_find(&grouping, number_of, groups->items, groups->count);
}

struct err *groups_page(const struct groups *all, const struct group_settings *settings,
			struct arena *arena, struct groups *page_ret, const uint32_t **places_ret)
{
	struct groups page = { .total_count = all->total_count, .by = all->by, .mode = all->mode };
	struct group *items = arena_array(arena, all->count, sizeof(*items));
	uint32_t *places = arena_array(arena, all->count, sizeof(*places));
	uint32_t *place_of = arena_array(arena, all->count, sizeof(*place_of));
	const uint64_t skip = u64_min(settings->skip, all->count);

	assert(settings->by == all->by);
	assert(all->count == all->total_count);
	assert((unsigned)settings->order.key < GROUP_KEYS);
	if (!items || !places || !place_of)
		return err_nomem();
	/* Ties stay in the order in which they were found. */
	for (uint32_t i = 0; i < all->count; i++) {
		const uint32_t number = all->items[i].number;

		assert(number < all->count);
		items[number] = all->items[i];
		place_of[number] = i;
	}
	if (!sort_stable(items, all->count, sizeof(*items), group_compare, &settings->order))
		return err_nomem();
	page.items = items + skip;
	page.count = all->count - skip;
	if (settings->count)
		page.count = u64_min(page.count, settings->count);
	for (size_t i = 0; i < page.count; i++)
		places[i] = place_of[page.items[i].number];
	assert(page.count <= all->count);
	*page_ret = page;
	*places_ret = places;
	return NULL;
}
