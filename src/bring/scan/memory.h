/*
 * memory: the memory of a program that is looked at: a process's, or what a core dump has of it.
 */
#ifndef MEMTAPE_SCAN_MEMORY_H
#define MEMTAPE_SCAN_MEMORY_H

#include <sys/types.h>

#include "core/core.h"

struct memory {
	/* Returns how many bytes from the beginning could be read. */
	size_t (*read)(void *context, uint64_t address, void *buffer, size_t bytes);
	void *context;
};

/* Of a process that this one may trace. */
struct memory memory_of_process(pid_t pid);

static inline bool memory_read(const struct memory *memory, uint64_t address, void *buffer,
			       size_t bytes)
{
	return memory->read(memory->context, address, buffer, bytes) == bytes;
}

#endif
