/*
 * watch: the few files that say how the machine and the cgroup of a process are off for memory, for
 * who looks at them many times: they are kept open, and read in place. One thread at a time.
 */
#ifndef MEMTAPE_HOST_WATCH_H
#define MEMTAPE_HOST_WATCH_H

#include <sys/types.h>

#include "system/cgroup.h"

struct host_watch;

/* NULL: out of memory. What cannot be opened is not in the looks. */
struct host_watch *host_watch_open(pid_t pid);
void host_watch_close(struct host_watch *watch);
CLEAN_DEFINE(host_watch_close, struct host_watch *);

/* Reads again: /proc/meminfo, vmstat, pressure/memory, and the cgroup's. Valid until the next call. */
const struct look *host_watch_look(struct host_watch *watch);

/* Of the process when it was looked at last: the first one is its own. None: count is 0. */
const struct cgroup_places *host_watch_places(const struct host_watch *watch);

#endif
