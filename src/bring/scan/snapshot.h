/*
 * snapshot: a copy-on-write copy of a stopped process's memory, so that the process can go on while
 * the copy is looked at. The copy is a process that never runs: one of the stopped threads is made
 * to call clone(), without libc's or the program's knowledge, and the new process stays stopped.
 * It is a child of the program's parent, so the program's wait() never sees it.
 */
#ifndef MEMTAPE_SCAN_SNAPSHOT_H
#define MEMTAPE_SCAN_SNAPSHOT_H

#include "scan/maps.h"
#include "scan/stop.h"

/*
 * maps are the process's. ERR_STATE: not possible, and why: a seccomp filter might forbid the call,
 * or no thread is where it can be made. The threads stay stopped in any case.
 */
struct err *snapshot_take(struct stop *stop, const struct maps *maps, pid_t *copy_ret);

/* Ends the copy. Called by the thread that took it. */
void snapshot_end(pid_t copy);

#endif
