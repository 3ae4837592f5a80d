/*
 * kernel_events: what the kernel did for a program (tape/tape_kernel.h), as sums. Events are no
 * allocations: they have stacks and times, but no rows and no ends.
 */
#ifndef MEMTAPE_SUMS_KERNEL_EVENTS_H
#define MEMTAPE_SUMS_KERNEL_EVENTS_H

#include "sums/metric.h"

/* The metric of a kind; OOM has none. */
static inline enum metric kernel_events_metric(enum tape_kernel_kind kind)
{
	return (enum metric)(METRIC_BRK + kind);
}

/* What an event adds to its metric's bytes: what was moved down or failed adds nothing. */
static inline uint64_t kernel_event_bytes(const struct tape_kernel *event)
{
	return event->flags & (TAPE_KERNEL_SHRINK | TAPE_KERNEL_FAILED) ? 0 : event->bytes;
}

/* Whether such events were looked for, even if there were none. */
bool kernel_events_exist(const struct model *model, enum tape_kernel_kind kind);

struct kernel_events {
	uint64_t count;	   /* all that there were, by the kernel's own count */
	uint64_t recorded; /* of these, on the tape in the range */
	uint64_t lost;	   /* of these, not recorded for want of room */
	uint64_t own;	   /* of these, for memtape's recorder itself: not recorded */
	uint64_t period;   /* of so many one was recorded */
	uint64_t bytes;	   /* of those recorded: grown, mapped, unmapped, or pages */
	bool is_user_only; /* events within system calls could not be seen */
};

/* Of a range of time, both inclusive; count, lost and own are of the whole tape. */
struct kernel_events kernel_events_total(const struct model *model, enum tape_kernel_kind kind,
					 uint64_t from_ns, uint64_t until_ns);

/* Adds count and bytes to temporary of stacks, which has model_stack_count() items. */
void kernel_events_add(const struct model *model, enum tape_kernel_kind kind, uint64_t from_ns,
		       uint64_t until_ns, struct model_stack_sums *stacks);

#endif
