/*
 * host: reads what a machine says of its memory: files of /proc, of cgroups, and the kernel's log. It
 * only reads, and stops nobody. One thread at a time.
 */
#ifndef MEMTAPE_HOST_HOST_H
#define MEMTAPE_HOST_HOST_H

#include <sys/types.h>

#include "system/looks.h"

enum { HOST_TOP_PROCESSES = 10 };

struct host_settings {
	const char
		*root; /* read the files below this folder, with its links inside it; NULL: "/" */
	pid_t subject; /* a process to be read in detail; 0: none */
};

struct host;

/* Texts of settings are borrowed. ERR_SYSTEM: the root; ERR_NOT_FOUND: no /proc there, no subject. */
struct err *host_open(const struct host_settings *settings, struct host **host_ret);
void host_close(struct host *host);
CLEAN_DEFINE(host_close, struct host *);

/*
 * Reads everything once; texts are in the arena. What cannot be read is in the look, with its error.
 * Of the kernel's log, what came since the last look. is_last: also what takes long.
 */
struct err *host_look(struct host *host, bool is_last, struct arena *arena, struct look *look_ret);

#endif
