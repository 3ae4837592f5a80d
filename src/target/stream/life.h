/*
 * life: how the sender knows that the program is gone. The program, and it alone, has a page of a file mapped
 * until it ends or becomes another program, however; and the kernel tells who asks in the right way whether
 * a file is mapped. Internal to stream.
 */
#ifndef MEMTAPE_STREAM_LIFE_H
#define MEMTAPE_STREAM_LIFE_H

#include "core/core.h"

struct life {
	int fd;		/* -1: none */
	bool is_leased; /* by a lease is asked, not by a seal */
};

/* A file in memory. Its descriptor, or a negative errno. */
int life_memory_file(void);

/*
 * The program's side: the page that it maps is *page_ret, freed with sys_munmap; no child of it has that. The
 * descriptor is the caller's. 0, or a negative errno; -ENOSYS: before Linux 3.17 it takes /dev/urandom, and
 * /dev/shm or /tmp.
 */
int life_make(struct life *life, uint64_t page_bytes, void **page_ret);

/* The sender's: whether nobody has it mapped any more. */
bool life_is_over(const struct life *life);

#endif
