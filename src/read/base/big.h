/*
 * big: large tables straight from the kernel: zeroed, on huge pages where the system has them,
 * since a table that is looked up at random spends its time in address translation.
 */
#ifndef MEMTAPE_BASE_BIG_H
#define MEMTAPE_BASE_BIG_H

#include "core/core.h"

/* Zeroed bytes; NULL: out of memory (or bytes is 0). */
void *big_alloc(size_t bytes);

/*
 * ptr as big_alloc gave it (NULL is fine), moved perhaps; what is new is zeroed. NULL: unchanged.
 */
void *big_resize(void *ptr, size_t old_bytes, size_t new_bytes);

/*
 * As calloc, to be given to free: large tables that live for one question. Where they are large
 * their faults and their zeroing are half of the work.
 */
void *big_calloc(size_t count, size_t item_bytes);

/* bytes: as last allocated. NULL is fine. */
void big_free(void *ptr, size_t bytes);

#endif
