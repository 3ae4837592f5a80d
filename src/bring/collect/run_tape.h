/*
 * run_tape: the tape of a run of the collector, and those of the program's children. Internal to
 * collect.
 */
#ifndef MEMTAPE_COLLECT_RUN_TAPE_H
#define MEMTAPE_COLLECT_RUN_TAPE_H

#include "base/arena.h"
#include "collect/collector_state.h"

/*
 * Creates it, for the process in collector->child, and puts the spool beside it. It is the same for
 * a program that is started and for one that runs. Undone by writer_close, drain_close and
 * spool_close.
 */
struct err *run_tape_begin(struct collector *collector);

/* At the end: packs the tapes that children have written, and lists them in the result. */
struct err *run_tape_children(const struct collector *collector, struct arena *arena,
			      struct collector_result *result);

#endif
