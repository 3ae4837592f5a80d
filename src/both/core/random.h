/*
 * random: bytes that nobody can guess, from the kernel, without libc. Async-signal-safe.
 */
#ifndef MEMTAPE_CORE_RANDOM_H
#define MEMTAPE_CORE_RANDOM_H

#include "core/core.h"

/*
 * Fills all of them: by getrandom(), before Linux 3.17 from /dev/urandom. 0, or a negative errno: then
 * there is neither, and nothing can be said of the bytes.
 */
int random_fill(void *ptr, size_t bytes);

/* The same for what is no secret: where there is neither, they are such that no two processes have equal ones. */
void random_distinct(void *ptr, size_t bytes);

#endif
