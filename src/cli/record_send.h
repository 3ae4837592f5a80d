/*
 * record_send: `memtape send --follow` as a process beside a recording. It reads the tape like anybody
 * else; neither the program nor the collector depends on it.
 */
#ifndef MEMTAPE_CLI_RECORD_SEND_H
#define MEMTAPE_CLI_RECORD_SEND_H

#include <sys/types.h>

#include "cli/stream_options.h"

struct record_send {
	const char *to; /* NULL: nowhere */
	struct stream_options stream;
	uint64_t wait_ns;    /* how long it may take after the end of the recording */
	bool removes;	     /* the tape, when all of it is there */
	const char *program; /* its name; borrowed */
	char *path;	     /* of the tape */
	pid_t pid;	     /* 0: not running */
	int out;	     /* what it prints; valid while it runs */
	int control;	     /* open as long as the recording goes on; the same */
};

/* What the user wrote, before the program starts. */
struct err *record_send_check(const struct record_send *send);

/* Starts it on a tape that need not exist yet. Undone by record_send_wait or record_send_stop. */
struct err *record_send_start(struct record_send *send, const char *path);

/* The recording has ended: no other tape will take the name. Does nothing if it is not running. */
void record_send_ended(struct record_send *send);

/*
 * After that: waits until the rest is sent, no longer than that may take, and prints
 * on standard error what came of it. A signal ends the waiting. session: the folder of more tapes, which
 * are sent then, or NULL. Does nothing if it is not running.
 */
void record_send_wait(struct record_send *send, const char *session);

/* There is no tape. */
void record_send_stop(struct record_send *send);

#endif
