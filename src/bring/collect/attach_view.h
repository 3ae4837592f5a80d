/*
 * attach_view: whether a process can be attached to, and whether it sees files as we do.
 */
#ifndef MEMTAPE_COLLECT_ATTACH_VIEW_H
#define MEMTAPE_COLLECT_ATTACH_VIEW_H

#include "scan/maps.h"

enum { ATTACH_ROOT_BYTES = 32 };

struct attach_view {
	bool is_apart; /* a file's name means something else there: a container, or chroot() */
	char root[ATTACH_ROOT_BYTES]; /* where its files are for us, "/proc/PID/root"; "": here */
};

/*
 * library and spool are paths of ours, maps the process's. ERR_NOT_FOUND, ERR_STATE: it cannot be
 * attached to, and why.
 */
struct err *attach_view(pid_t pid, const char *library, const char *spool, const struct maps *maps,
			struct attach_view *view);

#endif
