/*
 * serve_attach: `memtape attach` as a process beside a server, for each process that somebody attaches
 * to in the app. It ends when the server does, and lets its process go.
 */
#ifndef MEMTAPE_CLI_SERVE_ATTACH_H
#define MEMTAPE_CLI_SERVE_ATTACH_H

#include "base/clean.h"
#include "http/processes.h"
#include "http/tapes.h"

struct serve_attached {
	struct control control;
	pid_t memtape; /* 0: it has ended, and was seen to */
};

struct serve_attach {
	const char *folder; /* of new tapes; borrowed */
	struct serve_attached *items[TAPES_ADDED_MAX + 1];
	size_t count;
	struct processes_source source; /* for the server */
};

void serve_attach_init(struct serve_attach *attach, const char *folder);

/* Lets go what is attached to, and waits until those tapes are complete, for 20 seconds at most. */
void serve_attach_deinit(struct serve_attach *attach);
CLEAN_DEFINE_DEINIT(serve_attach_deinit, struct serve_attach);

#endif
