/* arena: many small objects with one lifetime. Not thread-safe; all zeros is an empty arena. */
#ifndef MEMTAPE_BASE_ARENA_H
#define MEMTAPE_BASE_ARENA_H

#include "base/clean.h"

struct arena_block;

/* A memory budget shared by several arenas of one thread. */
struct arena_budget {
	size_t max_bytes;
	size_t used_bytes;
	bool is_over; /* an allocation of an arena failed */
};

struct arena {
	struct arena_block *blocks; /* newest first */
	uint8_t *ptr;
	size_t rest;
	size_t total_bytes;	     /* taken from the heap so far */
	struct arena_budget *budget; /* borrowed; NULL: unlimited */
};

/* Zeroed, aligned to 16, alive until arena_deinit; NULL when out of memory, or
 * over the budget. bytes may be 0. */
void *arena_alloc(struct arena *arena, size_t bytes);

/* count items of item_bytes each; NULL also when the product does not fit. */
void *arena_array(struct arena *arena, size_t count, size_t item_bytes);

/* A NUL-terminated copy of len bytes / of a string. */
char *arena_text(struct arena *arena, const char *text, size_t len);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *fmt, ...) PRINTF_LIKE(2, 3);

void arena_deinit(struct arena *arena);

/* Detaches the arena from its budget, for data that outlives the budget. */
void arena_release_budget(struct arena *arena);
CLEAN_DEFINE_DEINIT(arena_deinit, struct arena);

#define arena_new(arena, type) ((type *)arena_alloc(arena, sizeof(type)))

#endif
