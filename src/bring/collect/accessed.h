/*
 * accessed: which pages of a process have been read or written, by the accessed bits of its page
 * tables (bpf/page_tables.h), which are cleared at each look (clear_refs of proc(5), of anonymous
 * memory). Needs root.
 *
 * A processor that knows a page from before does not set its bit again. So after clearing the whole
 * process is made to be looked up anew: in it is a mapping of ours, of pages that are taken away from
 * it at each look, and the kernel then has all processors forget what they know of the process.
 * What is touched while a look is made, and only then, may be missed.
 */
#ifndef MEMTAPE_COLLECT_ACCESSED_H
#define MEMTAPE_COLLECT_ACCESSED_H

#include <sys/types.h>

#include "base/err.h"
#include "bpf/page_tables.h"
#include "collect/watched.h"
#include "scan/stop.h"

struct accessed {
	pid_t pid;
	struct page_tables *tables;
	int clear;	      /* /proc/PID/clear_refs */
	int memory;	      /* of the mapping that is taken away */
	uint64_t memory_at;   /* in the process */
	uint64_t memory_file; /* inode */
	struct maps maps;     /* as it was when watching began: what is the recorder's own */
};

/*
 * The first half, while the program runs: whether it is possible here. ERR_STATE, ERR_UNSUPPORTED:
 * why it is not. Undone by accessed_close, also when it failed.
 */
struct err *accessed_open(struct accessed *accessed, pid_t pid);

/* The second, with all its threads stopped by the caller. ERR_STATE: it is not possible, and why. */
struct err *accessed_begin(struct accessed *accessed, struct stop *stop);

void accessed_close(struct accessed *accessed); /* all zeros is fine */

/*
 * All watched memory, and in it the pages that have memory behind them: is_touched says whether they
 * have been used since the look before. False: the look is void, for the process is gone, or has
 * become another program.
 */
bool accessed_look(struct accessed *accessed, const struct watched_visitor *visitor);

#endif
