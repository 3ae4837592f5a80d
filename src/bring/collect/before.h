/*
 * before: the blocks that a process had when it was attached to. They are found in the copy of its
 * memory that was made then (walked.h), by a thread of the collector's, and written to a stream of
 * their own: allocations at that moment, with usable sizes, without stacks. Internal to collect.
 */
#ifndef MEMTAPE_COLLECT_BEFORE_H
#define MEMTAPE_COLLECT_BEFORE_H

#include "collect/attach.h"
#include "collect/collector_state.h"

/* Takes the copy out of the report, or why there is none. NULL: out of memory. */
struct before *before_begin(struct attach_report *report, uint64_t ticks, uint32_t *wake);

/* True: before_end does not wait. */
bool before_is_found(const struct before *before);

/* Waits, writes what was found and the ATTACHED record, and frees it. Called by who began it. */
void before_end(struct before *before, struct collector *collector);

#endif
