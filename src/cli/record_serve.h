/*
 * record_serve: `memtape serve` as a process beside a recording, which neither the program nor the
 * collector depends on.
 */
#ifndef MEMTAPE_CLI_RECORD_SERVE_H
#define MEMTAPE_CLI_RECORD_SERVE_H

#include <sys/types.h>

#include "base/err.h"
#include "collect/collector.h"
#include "http/control.h"

struct record_serve {
	uint64_t port;		/* 0: one that is free */
	bool opens;		/* the browser */
	pid_t pid;		/* 0: it does not run */
	int fd;			/* what it asks comes from here; while it runs */
	struct control_ask ask; /* the last */
};

/* Starts it on a tape that may not be there yet, and prints its URL on standard error. */
struct err *record_serve_start(struct record_serve *serve, const char *path);

/*
 * What was requested of the server; false: nothing. It is held until record_serve_grant. Neither
 * waits. The text is valid until the next call.
 */
bool record_serve_wish(struct record_serve *serve, struct collector_wish *wish);
void record_serve_grant(struct record_serve *serve, const struct collector_granted *granted);

/* The recording has: there is nothing to ask for any more. */
void record_serve_ended(struct record_serve *serve);

/* Until somebody wants it to end; says so first. The program has ended. */
void record_serve_wait(struct record_serve *serve);

/* Ends it and waits for that. Nothing happens if it does not run. */
void record_serve_stop(struct record_serve *serve);

#endif
