/*
 * ending: the last words of a tape - what was lost, what stopped it, what it cost, how the program
 * ended - and what the result says of it. Internal to collect.
 */
#ifndef MEMTAPE_COLLECT_ENDING_H
#define MEMTAPE_COLLECT_ENDING_H

#include "base/arena.h"
#include "collect/collector_state.h"

/* Totals so far; the last record of them counts. */
struct tape_lost ending_note_losses(struct collector *collector);

/* After the last chunk; result->wait_status and usage are there. */
void ending_write(struct collector *collector, struct arena *arena,
		  struct collector_result *result);

#endif
