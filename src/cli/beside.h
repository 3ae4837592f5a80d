/*
 * beside: memtape once more, as a process beside this one: what it prints is read, and a socket is for
 * requests (http/control.h). It has no terminal.
 */
#ifndef MEMTAPE_CLI_BESIDE_H
#define MEMTAPE_CLI_BESIDE_H

#include <sys/types.h>

#include "base/err.h"

enum { BESIDE_LINE_BYTES = 4096 + 64 };

struct beside {
	pid_t pid;
	int out;     /* what it prints; the caller's to close */
	int control; /* our end of its socket; the caller's to close */
};

/*
 * args are its own, with "memtape" first and NULL last; the number of its socket is put at control_at.
 * is_bound: it gets SIGTERM when the calling thread ends. Other threads may run.
 */
struct err *beside_start(struct beside *beside, const char **args, size_t control_at,
			 bool is_bound);

/* One line of what it prints, without its end; false, and "": there is none. Waits for it. */
bool beside_line(const struct beside *beside, char line[BESIDE_LINE_BYTES]);

/* The words of an error that it has printed; NULL: the line is none. */
const char *beside_trouble(const char *line);

#endif
