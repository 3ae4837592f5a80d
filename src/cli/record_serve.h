/*
 * record_serve: `memtape serve` as a process beside a recording; neither the program nor the
 * collector depends on it.
 */
#ifndef MEMTAPE_CLI_RECORD_SERVE_H
#define MEMTAPE_CLI_RECORD_SERVE_H

#include <sys/types.h>

#include "base/err.h"
#include "collect/collector.h"
#include "http/control.h"

struct record_serve {
	uint64_t port;		/* 0: any free port */
	bool opens;		/* opens the browser */
	pid_t pid;		/* 0: not running */
	int fd;			/* its requests are read from here; valid while it runs */
	struct control_ask ask; /* the last request */
	bool ends_with_peer;	/* if the server ends, so does the recording */
};

/* Starts it on a tape that may not exist yet, and prints its URL on standard error. */
struct err *record_serve_start(struct record_serve *serve, const char *path);

/*
 * A request made to the server; false: none. It is held until record_serve_grant. Neither call
 * waits. The text is valid until the next call.
 */
bool record_serve_wish(struct record_serve *serve, struct collector_wish *wish);
void record_serve_grant(struct record_serve *serve, const struct collector_granted *granted);

/*
 * The other way round: a server that runs has started this process, on whose socket it is asked.
 * ERR_USAGE: fd is not such a socket. It is told the tape's path on standard output, and then that
 * recording has begun; nothing is printed any more from then on.
 */
struct err *record_serve_obey(struct record_serve *serve, const char *fd);
struct err *record_serve_tell_path(const char *path);
void record_serve_begun(struct record_serve *serve, uint64_t pause_ns);

/* Called when the recording has ended: no more requests. */
void record_serve_ended(struct record_serve *serve);

/*
 * Says that it serves, then waits until asked to stop, unless that was asked already. The program
 * has ended.
 */
void record_serve_wait(struct record_serve *serve, bool is_asked_to_end);

/* Stops it and waits for its end. Does nothing if it is not running. */
void record_serve_stop(struct record_serve *serve);

#endif
