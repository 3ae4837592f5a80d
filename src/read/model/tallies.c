#include "model/tallies.h"

enum { ITEMS_FIRST = 1 << 10 };

void tallies_deinit(struct tallies *tallies)
{
	big_free(tallies->seats, tallies->seat_room * sizeof(*tallies->seats));
	tallies_drop(tallies);
}

bool tallies_grow(struct tallies *tallies)
{
	const uint32_t room = tallies->room ? tallies->room * 2 : ITEMS_FIRST;
	void *items;

	if (room < tallies->room)
		return false;
	items = big_resize(tallies->items, tallies->room * sizeof(*tallies->items),
			   room * sizeof(*tallies->items));
	if (!items)
		return false;
	tallies->items = items;
	tallies->room = room;
	tallies->count += tallies->count == 0; /* the first */
	return true;
}

bool tallies_reserve(struct tallies *tallies, size_t room)
{
	void *seats;

	assert(room > 0 && room >= tallies->seat_room);
	if (!tallies_make_room(tallies))
		return false;
	seats = big_resize(tallies->seats, tallies->seat_room * sizeof(*tallies->seats),
			   room * sizeof(*tallies->seats));
	if (!seats)
		return false;
	tallies->seats = seats;
	tallies->seat_room = room;
	return true;
}

bool tallies_copy(const struct tallies *tallies, struct tallies *copy_ret)
{
	struct tally *items = big_alloc(tallies->room * sizeof(*items));

	if (!items)
		return false;
	memcpy(items, tallies->items, tallies->count * sizeof(*items));
	*copy_ret = *tallies;
	copy_ret->items = items;
	return true;
}

void tallies_drop(struct tallies *copy)
{
	big_free(copy->items, copy->room * sizeof(*copy->items));
	copy->items = NULL;
}
