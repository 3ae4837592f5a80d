/*
 * map: open-addressing hash maps from 64-bit numbers or strings to 64-bit numbers, and an interner
 * that gives equal strings equal small numbers. Linear probing, at most 3/4 full. All zeros is an
 * empty map. Not thread-safe while being written.
 */
#ifndef MEMTAPE_BASE_MAP_H
#define MEMTAPE_BASE_MAP_H

#include "base/arena.h"
#include "base/vec.h"
#include "core/hash.h"

struct map_slot {
	uint64_t key;
	uint64_t value;
};

struct map {
	struct map_slot *slots; /* key 0 marks an empty slot; the key 0 itself lives outside */
	size_t capacity;	/* a power of two or 0 */
	size_t count;
	bool zero_set;
	uint64_t zero_value;
};

/* Pointer to the value, or NULL. Valid until the next insertion or removal. */
uint64_t *map_find(const struct map *map, uint64_t key);

/*
 * Pointer to the value, inserted as 0 if missing; *is_new (may be NULL): whether it was. NULL when
 * out of memory.
 */
uint64_t *map_put(struct map *map, uint64_t key, bool *is_new);

/* Whether it existed; *value_ret (may be NULL) receives the value. */
bool map_remove(struct map *map, uint64_t key, uint64_t *value_ret);

bool map_reserve(struct map *map, size_t count);
void map_deinit(struct map *map);
CLEAN_DEFINE_DEINIT(map_deinit, struct map);

/* Visits all in unspecified order; stops early when visit returns false. */
void map_each(const struct map *map, bool (*visit)(void *context, uint64_t key, uint64_t *value),
	      void *context);

/* Strings <-> 0, 1, 2 ... in order of first insertion. Texts live as long as the interner. */
struct interner {
	struct arena arena;
	uint32_t *slots; /* id + 1; 0: empty */
	size_t capacity;
	const char **texts; /* by id */
	uint64_t *hashes;   /* by id */
	uint32_t count;
	uint32_t room;
};

/* UINT32_MAX when out of memory. */
uint32_t interner_put(struct interner *interner, const char *text, size_t len);
uint32_t interner_find(const struct interner *interner, const char *text, size_t len);
void interner_deinit(struct interner *interner);
CLEAN_DEFINE_DEINIT(interner_deinit, struct interner);

#endif
