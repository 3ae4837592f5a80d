/*
 * landing: code in a stopped process by which a thread that is made to do something goes on as
 * before, even if we die meanwhile. It is written behind the code of a loaded object, in the rest
 * of its last page, where nothing is; so it is there before the process has given us any memory.
 */
#ifndef MEMTAPE_SCAN_LANDING_H
#define MEMTAPE_SCAN_LANDING_H

#include "arch/tracer.h"
#include "scan/maps.h"
#include "scan/stop.h"

enum { LANDING_BYTES_MAX = 768 };

struct landing {
	uint64_t at;
	pid_t tid;
	bool was_there; /* left behind by one that died: somebody may still return to it */
	uint8_t before[LANDING_BYTES_MAX];
};

/*
 * Writes it, by way of this thread, which is stopped. ERR_STATE: no object has room for it, or the
 * kernel forbids writing there. maps are the process's.
 */
struct err *landing_place(struct landing *landing, const struct stop *stop, pid_t tid,
			  const struct maps *maps);

/* What a system call restores. False: it cannot be written. */
bool landing_set(const struct landing *landing, const struct arch_landing_words *words);

/* Writes what was there before. */
void landing_remove(const struct landing *landing);

#endif
