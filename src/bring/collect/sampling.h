/*
 * sampling: what the collector looks at from outside every now and then: memory usage, threads'
 * stacks and names, and with that whether limits are reached. Internal to collect.
 */
#ifndef MEMTAPE_COLLECT_SAMPLING_H
#define MEMTAPE_COLLECT_SAMPLING_H

#include "collect/collector_state.h"

enum { SAMPLE_PERIOD_NS = 20 * 1000 * 1000 }; /* at least */

/* Takes a sample, when one is due (sample_due_ns). */
void sampling_look(struct collector *collector);

/* How the machine is off for memory, if it is time for it (collect/system_usage.h). */
void sampling_look_system(struct collector *collector, uint64_t now_ns);

/* Whenever the last time was: what happened until the end of the tape, such as a kill. */
void sampling_look_system_last(struct collector *collector);

/* A last look at the stacks, if the recorder waits for one, even if nothing is recorded any more. */
void sampling_look_last(struct collector *collector);

#endif
