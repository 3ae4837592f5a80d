/*
 * attach_library: the libraries that are loaded into processes that run already.
 */
#ifndef MEMTAPE_COLLECT_ATTACH_LIBRARY_H
#define MEMTAPE_COLLECT_ATTACH_LIBRARY_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"

/* The one for a process, beside that of `memtape record`; in arena. */
struct err *attach_library(struct arena *arena, pid_t pid, const char **path_ret);

/* Where the process has it, of the same build. 0: it is not loaded. */
uint64_t attach_library_begin(pid_t pid, const char *path);

/* Where one of its functions is in the process. 0: it is not loaded. */
uint64_t attach_library_function(pid_t pid, const char *path, const char *name);

#endif
