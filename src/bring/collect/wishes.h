/*
 * wishes: what somebody outside of the program wants of its recording: a mark, a tape that is up
 * to date, the end. Internal to collect.
 */
#ifndef MEMTAPE_COLLECT_WISHES_H
#define MEMTAPE_COLLECT_WISHES_H

#include "base/arena.h"
#include "collect/collector_state.h"

/* Does at most one and says what became of it; a stop begins here and is answered for later. */
void wishes_take(struct collector *collector, struct collector_result *result);

/* Between a stop's beginning and its end, and whether that is to be now. */
bool wishes_is_stopping(const struct collector *collector);
bool wishes_stop_is_due(const struct collector *collector);

/* The tape ends; the program goes on, or has just ended. */
void wishes_stop(struct collector *collector, struct arena *arena, struct collector_result *result);

#endif
