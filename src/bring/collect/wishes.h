/*
 * wishes: requests from outside the program about its recording: a mark, an up-to-date tape, a
 * pause, the end. Internal to collect.
 */
#ifndef MEMTAPE_COLLECT_WISHES_H
#define MEMTAPE_COLLECT_WISHES_H

#include "base/arena.h"
#include "collect/collector_state.h"

/* Handles at most one request and reports its result; a stop begins here and is answered later. */
void wishes_take(struct collector *collector, struct collector_result *result);

/* Whether a stop has begun and not ended, and whether it is to end now. */
bool wishes_is_stopping(const struct collector *collector);
bool wishes_stop_is_due(const struct collector *collector);

/* Ends the tape; the program goes on, or has just ended. */
void wishes_stop(struct collector *collector, struct arena *arena, struct collector_result *result);

/* Answers who wished so: the tape has ended. */
void wishes_stopped(struct collector *collector, const struct collector_result *result);

/*
 * Resumes after settings.delay_ns, and pauses after settings.duration_ns; when that is next, by
 * CLOCK_MONOTONIC, UINT64_MAX: never.
 */
void wishes_pause_on_time(struct collector *collector);
uint64_t wishes_pause_due_ns(const struct collector *collector);

#endif
