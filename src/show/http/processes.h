/*
 * processes: what a server can do with processes that run already: list them, and have one recorded.
 * How it is done is up to who starts the server.
 */
#ifndef MEMTAPE_HTTP_PROCESSES_H
#define MEMTAPE_HTTP_PROCESSES_H

#include "answer/shape.h"
#include "base/arena.h"
#include "http/control.h"

/* As `memtape attach --list`, /api/v1/attachable and the app show it. */
struct process_row {
	uint64_t pid;
	const char *name, *command, *user;
	uint64_t rss_bytes, age_ns;
	const char *start_realtime_ns;
	const char *tape;     /* NULL: it is not recorded */
	const char *obstacle; /* NULL: none */
	const char *refusal;
};

struct process_list {
	struct shape_rows processes;
};

extern const struct shape shape_process_list;

/* A recording that has begun. */
struct processes_begun {
	struct control *control; /* the source's, for as long as the server lives */
	const char *path;	 /* of its tape, which may appear a moment later; in the arena */
	uint64_t pause_ns;	 /* how long the process stood still */
};

struct processes_source {
	struct err *(*list)(void *context, struct arena *arena, struct process_list *list);
	/* One at a time. ERR_STATE: why it is not recorded. */
	struct err *(*attach)(void *context, uint64_t pid, struct arena *arena,
			      struct processes_begun *begun);
	void *context;
};

#endif
