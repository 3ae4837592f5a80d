/*
 * ending: the last words of a tape - what was lost, what stopped it, what it cost, how the program
 * ended - and what the result says of it. Internal to collect.
 */
#ifndef MEMTAPE_COLLECT_ENDING_H
#define MEMTAPE_COLLECT_ENDING_H

#include "base/arena.h"
#include "collect/collector_state.h"

/* Totals so far, into the result too; the last record of them counts. */
void ending_note_losses(struct collector *collector, struct collector_result *result);

/* The program goes on without us: what was lost has been noted. */
void ending_write_stopped(struct collector *collector, struct arena *arena,
			  struct collector_result *result);

/* The program has become another one by exec, which gets a tape of its own. */
void ending_write_replaced(struct collector *collector, struct arena *arena,
			   struct collector_result *result);

/* After the last chunk; result->wait_status and usage are there. */
void ending_write(struct collector *collector, struct arena *arena,
		  struct collector_result *result);

#endif
