/*
 * attach: loads the recorder into a process that runs already, and lets it go again.
 *
 * A thread that holds no lock (scan/safe.h) is made to load a library (attach_library.h) and to call what
 * it has for that (tape/tape_attach.h), on a stack of its own, while the others go on. Its
 * registers, signals and system call are as before afterwards.
 */
#ifndef MEMTAPE_COLLECT_ATTACH_H
#define MEMTAPE_COLLECT_ATTACH_H

#include "base/err.h"
#include "scan/stop.h"
#include "tape/tape_attach.h"

struct attach_request {
	pid_t pid;
	const char *library; /* absolute path (attach_library.h) */
	const char *spool;   /* absolute path of the collector's spool */
	int spool_fd;	     /* ours, of the same */
	const char *options;
	bool is_inline; /* also lead the functions themselves (attach_inline.h) */
	/* Called while all threads stand still: what is recorded comes later. */
	void (*at_moment)(void *context);
	void *context;
};

/* Undone by attach_report_deinit. */
struct attach_report {
	uint64_t pause_ns; /* how long the thread that did it, and at most any other, stood still */
	uint64_t places;   /* calls of the allocator that are recorded */
	uint64_t other_places; /* that are not: they lead to another allocator */
	uint32_t functions;    /* whose first instructions lead to the recorder */
	pid_t copy;	       /* of its memory at the moment (scan/snapshot.h); 0: none */
	struct err *copy_err;  /* why there is none */
	struct stop stop;      /* its threads at the moment */
	bool is_apart;	       /* it has another root or mount namespace */
	bool is_quiet;	       /* none of them was in the allocator */
};

void attach_report_deinit(struct attach_report *report);

/*
 * Errors say what would work instead: ERR_UNSUPPORTED, ERR_STATE: the process cannot be attached
 * to, or not now; it goes on as before in any case.
 */
struct err *attach_begin(const struct attach_request *request, struct attach_report *report);

/* All places have again what they had. ERR_STATE: it is not attached to. */
struct err *attach_end(pid_t pid, struct attach_report *report);

#endif
