/*
 * attached: the recording of a process that ran already: how it begins, and when it ends while the
 * process goes on. Internal to collect.
 */
#ifndef MEMTAPE_COLLECT_ATTACHED_H
#define MEMTAPE_COLLECT_ATTACHED_H

#include "base/arena.h"
#include "collect/collector_state.h"

/* The spool has its name: loads the recorder, which begins at once. */
struct err *attached_begin(struct collector *collector, struct arena *arena,
			   struct collector_result *result);

/* Bits of signals for this process: some of them end the recording. */
void attached_signals(struct collector *collector, uint32_t pending);

/* Lets the process go when it is time to, and ends the tape. */
void attached_look(struct collector *collector, struct arena *arena,
		   struct collector_result *result);

/* Waits until it is known what was live before, and puts it on the tape. */
void attached_write_before(struct collector *collector);

/* The process goes on, and the tape is complete. */
bool attached_is_over(const struct collector *collector);

#endif
