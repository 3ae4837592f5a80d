/*
 * watch: allocations of a running process, counted in the kernel: probes at the functions of its
 * allocator, stacks unwound there. Nothing is loaded into the process and it is never stopped, so
 * it may also be linked statically.
 *
 * What is known of it at a moment is written as a tape: the live blocks.
 *
 * One thread at a time.
 */
#ifndef MEMTAPE_BPF_WATCH_H
#define MEMTAPE_BPF_WATCH_H

#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

struct watch;

struct watch_settings {
	pid_t pid;	       /* -1: all that have the same C library as memtape */
	uint64_t sample_bytes; /* one sample each so many bytes; 0: every block */
	bool has_totals;       /* tapes also have what was freed, as blocks of average size */
	uint64_t block_count;  /* most live blocks that are followed; 0: the usual number */
};

/*
 * From now on the process is watched. ERR_STATE, ERR_UNSUPPORTED, ERR_NOT_FOUND: it cannot be; the
 * message says why and what to do.
 */
struct err *watch_open(const struct watch_settings *settings, struct watch **watch_ret);

/* Ends it: the process is as it was. Accepts NULL. */
void watch_close(struct watch *watch);
CLEAN_DEFINE(watch_close, struct watch *);

/* To be called several times a second: libraries that were loaded meanwhile become known. */
struct err *watch_poll(struct watch *watch);

/* A line for the user: what is probed. Adds to text. */
void watch_describe(const struct watch *watch, struct str *text);

/* What a process has of live blocks. */
struct watch_live {
	pid_t pid;
	const char *exe; /* as long as the watch */
	uint64_t bytes, count;
};

/*
 * Takes what is live now; lives_ret: by process, those with most bytes first, valid until the next
 * take. A process of one's own is there, even if nothing is live.
 */
struct err *watch_take(struct watch *watch, const struct watch_live **lives_ret, size_t *count_ret);

/* Writes what was taken of a process as a tape. It appears when it is complete. */
struct err *watch_write(struct watch *watch, pid_t pid, const char *path, bool overwrite);

/* NULL: this memtape can watch; else it was built without, and this says what is missing. */
const char *watch_absence(void);

#endif
