/*
 * big: large tables straight from the kernel: zeroed, on huge pages where the system has them,
 * since random lookups in a large table are dominated by address translation.
 */
#ifndef MEMTAPE_BASE_BIG_H
#define MEMTAPE_BASE_BIG_H

#include "core/core.h"

/* Zeroed bytes; NULL: out of memory (or bytes is 0). */
void *big_alloc(size_t bytes);

/*
 * ptr is from big_alloc (NULL is fine) and may be moved; the new part is zeroed. NULL: unchanged.
 */
void *big_resize(void *ptr, size_t old_bytes, size_t new_bytes);

/*
 * Like calloc, freed with free: large tables for a single query. For large ones page faults and
 * zeroing are half of the work.
 */
void *big_calloc(size_t count, size_t item_bytes);

/* bytes: as last allocated. NULL is fine. */
void big_free(void *ptr, size_t bytes);

#endif
