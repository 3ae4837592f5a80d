/*
 * tape_birth: the record TAPE_EXT_THREAD_BIRTH (tape.h): its number matches a thread with the
 * TAPE_EXT_THREAD_CREATE of the thread that created it.
 */
#ifndef MEMTAPE_TAPE_TAPE_BIRTH_H
#define MEMTAPE_TAPE_TAPE_BIRTH_H

#include "core/core.h"

struct tape_thread_birth {
	uint64_t number; /* tape_thread_create.handle, where is_birth is set */
};
static_assert(sizeof(struct tape_thread_birth) == 8, "format");

#endif
