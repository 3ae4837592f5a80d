/*
 * messages: lists of protobuf-c messages in an arena.
 */
#ifndef MEMTAPE_EXPORT_MESSAGES_H
#define MEMTAPE_EXPORT_MESSAGES_H

#include "base/arena.h"

/*
 * Appends to a list in the arena that grows by doubling: a zeroed message, to be initialised by its
 * type's init function. list is the address of protobuf's array of pointers of any type. NULL, and
 * *failed_ret true: out of memory.
 */
void *messages_add(struct arena *arena, bool *failed_ret, void *list, size_t *count, size_t bytes);

#endif
