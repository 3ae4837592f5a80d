/*
 * written: which pages of a process have been written to, by write-protecting its memory through a
 * userfaultfd in asynchronous mode (Linux 6.7): the kernel notes the first write to a page by lifting
 * its protection, without asking anybody. Needs no privilege. What was only read does not count.
 *
 * Only this process holds the descriptor: when it ends, the kernel lifts all protection. A huge page
 * becomes small ones when a part of it is written to. Linux: userfaultfd(2), and pagemap_scan.h.
 */
#ifndef MEMTAPE_COLLECT_WRITTEN_H
#define MEMTAPE_COLLECT_WRITTEN_H

#include <sys/types.h>

#include "base/err.h"
#include "collect/watched.h"
#include "scan/stop.h"

struct written {
	pid_t pid;
	int fd;		  /* the userfaultfd; -1: none */
	struct maps maps; /* as it was when watching began: what is the recorder's own */
};

/*
 * Begins to watch. All threads have been stopped by the caller, who lets them go on. ERR_STATE: it
 * is not possible, and why. Undone by written_close.
 */
struct err *written_open(struct written *written, struct stop *stop);
void written_close(struct written *written); /* all zeros with fd -1 is fine */

/*
 * All watched memory, and in it the pages that have memory behind them: is_touched says whether they
 * have been written to since the look before, or are seen for the first time. False: nothing is
 * watched, for the process is gone, or has become another program.
 */
bool written_look(struct written *written, const struct watched_visitor *visitor);

#endif
