/*
 * attach_view: whether a process that is attached to sees files as we do.
 */
#ifndef MEMTAPE_COLLECT_ATTACH_VIEW_H
#define MEMTAPE_COLLECT_ATTACH_VIEW_H

#include <sys/types.h>

#include "base/err.h"

enum { ATTACH_ROOT_BYTES = 32 };

struct attach_view {
	bool is_apart; /* a file's name means something else there: a container, or chroot() */
	char root[ATTACH_ROOT_BYTES]; /* where its files are for us, "/proc/PID/root"; "": here */
};

/* library and spool are paths of ours. ERR_STATE: they cannot be brought there, and why. */
struct err *attach_view(pid_t pid, const char *library, const char *spool,
			struct attach_view *view);

#endif
