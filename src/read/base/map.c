#include "base/map.h"

#include <assert.h>

enum { FIRST_SLOTS = 64 };

static struct map_slot *slot_of(const struct map *map, uint64_t key)
{
	size_t mask = map->capacity - 1;
	size_t place = hash_mix(key) & mask;

	while (map->slots[place].key != 0 && map->slots[place].key != key)
		place = (place + 1) & mask;
	return &map->slots[place];
}

uint64_t *map_find(const struct map *map, uint64_t key)
{
	struct map_slot *slot;

	if (key == 0)
		return map->zero_set ? (uint64_t *)&map->zero_value : NULL;
	if (map->capacity == 0)
		return NULL;
	slot = slot_of(map, key);
	return slot->key ? &slot->value : NULL;
}

static bool map_resize(struct map *map, size_t capacity)
{
	struct map grown = { .capacity = capacity };

	grown.slots = calloc(capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].key)
			*slot_of(&grown, map->slots[i].key) = map->slots[i];
	free(map->slots);
	map->slots = grown.slots;
	map->capacity = capacity;
	return true;
}

bool map_reserve(struct map *map, size_t count)
{
	size_t capacity = map->capacity ? map->capacity : FIRST_SLOTS;

	assert((map->capacity & (map->capacity - 1)) == 0);
	if (count > SIZE_MAX / 4)
		return false;
	while (count > capacity / 4 * 3)
		capacity *= 2;
	return capacity == map->capacity || map_resize(map, capacity);
}

uint64_t *map_put(struct map *map, uint64_t key, bool *is_new)
{
	uint64_t *value = map_find(map, key);
	struct map_slot *slot;

	assert(map->count <= map->capacity / 4 * 3 + 1);
	if (is_new)
		*is_new = !value;
	if (value)
		return value;
	if (key == 0) {
		map->zero_set = true;
		map->zero_value = 0;
		map->count++;
		return &map->zero_value;
	}
	if (!map_reserve(map, map->count + 1))
		return NULL;
	slot = slot_of(map, key);
	*slot = (struct map_slot) { .key = key };
	map->count++;
	return &slot->value;
}

/* Moves later members of the probe sequence back, so that no tombstones are needed. */
static void close_gap(struct map *map, size_t gap)
{
	size_t mask = map->capacity - 1;

	for (size_t at = (gap + 1) & mask; map->slots[at].key; at = (at + 1) & mask) {
		size_t home = hash_mix(map->slots[at].key) & mask;

		if (((at - home) & mask) < ((at - gap) & mask))
			continue;
		map->slots[gap] = map->slots[at];
		gap = at;
	}
	map->slots[gap] = (struct map_slot) { 0 };
}

bool map_remove(struct map *map, uint64_t key, uint64_t *value_ret)
{
	uint64_t *value = map_find(map, key);

	if (!value)
		return false;
	if (value_ret)
		*value_ret = *value;
	if (key == 0)
		map->zero_set = false;
	else
		close_gap(map, (size_t)(slot_of(map, key) - map->slots));
	map->count--;
	return true;
}

void map_each(const struct map *map, bool (*visit)(void *context, uint64_t key, uint64_t *value),
	      void *context)
{
	assert(map->slots || map->capacity == 0);
	if (map->zero_set && !visit(context, 0, (uint64_t *)&map->zero_value))
		return;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].key && !visit(context, map->slots[i].key, &map->slots[i].value))
			return;
}

void map_deinit(struct map *map)
{
	free(map->slots);
	*map = (struct map) { 0 };
}

static size_t interner_place(const struct interner *interner, const char *text, size_t len,
			     uint64_t hash)
{
	size_t mask = interner->capacity - 1;
	size_t place = hash & mask;

	for (; interner->slots[place]; place = (place + 1) & mask) {
		uint32_t id = interner->slots[place] - 1;

		if (interner->hashes[id] == hash && strncmp(interner->texts[id], text, len) == 0 &&
		    interner->texts[id][len] == '\0')
			break;
	}
	return place;
}

static bool interner_rehash(struct interner *interner)
{
	size_t capacity = interner->capacity ? interner->capacity * 2 : FIRST_SLOTS;
	uint32_t *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return false;
	for (uint32_t id = 0; id < interner->count; id++) {
		size_t place = interner->hashes[id] & (capacity - 1);

		while (slots[place])
			place = (place + 1) & (capacity - 1);
		slots[place] = id + 1;
	}
	free(interner->slots);
	interner->slots = slots;
	interner->capacity = capacity;
	return true;
}

static bool interner_reserve(struct interner *interner)
{
	size_t texts_room = interner->room, hashes_room = interner->room;
	void *texts = interner->texts, *hashes = interner->hashes;
	size_t wanted = (size_t)interner->count + 1;
	bool ok;

	if (wanted > interner->capacity / 4 * 3 && !interner_rehash(interner))
		return false;
	if (wanted <= interner->room)
		return true;
	wanted += wanted / 2 + 16;
	ok = wanted < UINT32_MAX &&
	     vec_grow(&texts, &texts_room, wanted, sizeof(*interner->texts)) &&
	     vec_grow(&hashes, &hashes_room, wanted, sizeof(*interner->hashes));
	interner->texts = texts;
	interner->hashes = hashes;
	if (ok)
		interner->room = (uint32_t)wanted;
	return ok;
}

uint32_t interner_find(const struct interner *interner, const char *text, size_t len)
{
	uint64_t hash = hash_bytes(text, len, 0);
	size_t place;

	assert(text || len == 0);
	assert(interner->count < interner->capacity || interner->count == 0);
	if (interner->capacity == 0)
		return UINT32_MAX;
	place = interner_place(interner, text, len, hash);
	return interner->slots[place] ? interner->slots[place] - 1 : UINT32_MAX;
}

/* An embedded NUL ends the text, so that lookups match what would be printed. */
uint32_t interner_put(struct interner *interner, const char *text, size_t len)
{
	uint64_t hash;
	size_t place;

	assert(text || len == 0);
	assert(interner->count <= interner->room);
	len = strnlen(text, len);
	hash = hash_bytes(text, len, 0);
	if (!interner_reserve(interner))
		return UINT32_MAX;
	place = interner_place(interner, text, len, hash);
	if (!interner->slots[place]) {
		const char *copy = arena_text(&interner->arena, text, len);

		if (!copy)
			return UINT32_MAX;
		interner->texts[interner->count] = copy;
		interner->hashes[interner->count] = hash;
		interner->slots[place] = ++interner->count;
	}
	return interner->slots[place] - 1;
}

void interner_deinit(struct interner *interner)
{
	arena_deinit(&interner->arena);
	free(interner->slots);
	free(interner->texts);
	free(interner->hashes);
	*interner = (struct interner) { 0 };
}
