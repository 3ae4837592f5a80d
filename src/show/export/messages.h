/*
 * messages: lists of protobuf-c's messages in an arena.
 */
#ifndef MEMTAPE_EXPORT_MESSAGES_H
#define MEMTAPE_EXPORT_MESSAGES_H

#include "base/arena.h"

/*
 * One more in a list that lives in the arena and doubles: zeroed, to be initialised by its type's
 * init function. list is where protobuf's pointer to pointers is, whatever they point to. NULL, and
 * *failed_ret true: out of memory.
 */
void *messages_add(struct arena *arena, bool *failed_ret, void *list, size_t *count, size_t bytes);

#endif
