/*
 * tracing_tape: a tracing as a tape of its own, written while it happens.
 *
 * One thread at a time.
 */
#ifndef MEMTAPE_TRACE_TRACING_TAPE_H
#define MEMTAPE_TRACE_TRACING_TAPE_H

#include "trace/tracing.h"

struct tracing_tape;

/*
 * From now on, or from the child's next execve() on, it is traced. The tape appears with
 * tracing_tape_finish. Errors: those of tracing_open() and of creating files.
 */
struct err *tracing_tape_open(const struct tracing_settings *settings, const char *path,
			      bool overwrite, struct tracing_tape **tape_ret);

/* Without tracing_tape_finish there is no tape. Accepts NULL. */
void tracing_tape_close(struct tracing_tape *tape);
CLEAN_DEFINE(tracing_tape_close, struct tracing_tape *);

/* Borrowed: to be polled. */
struct tracing *tracing_tape_tracing(const struct tracing_tape *tape);

/* Takes the rest and publishes the tape. Nothing else but tracing_tape_close follows. */
struct err *tracing_tape_finish(struct tracing_tape *tape);

#endif
