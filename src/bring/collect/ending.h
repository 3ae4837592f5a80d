/*
 * ending: the final records of a tape - losses, why recording stopped, its cost, how the program
 * ended - and the same in the result. Internal to collect.
 */
#ifndef MEMTAPE_COLLECT_ENDING_H
#define MEMTAPE_COLLECT_ENDING_H

#include "base/arena.h"
#include "collect/collector_state.h"

/* Writes totals so far, also to the result; the last such record is valid. */
void ending_note_losses(struct collector *collector, struct collector_result *result);

/* The program goes on unrecorded: losses have been written. */
void ending_write_stopped(struct collector *collector, struct arena *arena,
			  struct collector_result *result);

/* The program has become another one by exec, which gets its own tape. */
void ending_write_replaced(struct collector *collector, struct arena *arena,
			   struct collector_result *result);

/* After the last chunk; result->wait_status and usage must be set. */
void ending_write(struct collector *collector, struct arena *arena,
		  struct collector_result *result);

#endif
