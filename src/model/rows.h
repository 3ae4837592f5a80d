/*
 * rows: the columns of MODEL_FULL while they are filled. Internal to model.
 */
#ifndef MEMTAPE_MODEL_ROWS_H
#define MEMTAPE_MODEL_ROWS_H

#include "model/clock.h"
#include "model/model.h"

struct rows {
	size_t count;
	size_t capacity;
	uint64_t *address;
	uint64_t *size;
	uint64_t *usable;
	uint64_t *alloc_time; /* ticks until rows_seal, then nanoseconds */
	uint64_t *free_time;
	uint32_t *thread;
	uint32_t *free_thread;
	uint32_t *stack;
	uint32_t *free_stack;
	uint32_t *realloc_of;
	uint32_t *free_epoch; /* how many peaks there were before it was freed */
	uint8_t *fn;
	uint8_t *free_fn;
	uint8_t *flags;
};

void rows_deinit(struct rows *rows);

/* Appends the row of an allocation; ERR_LIMIT when there are more than ids. */
struct err *rows_add(struct rows *rows, const struct capture_event *event, uint32_t thread,
		     uint32_t realloc_of);

/* flag: added to the row's flags. */
void rows_free(struct rows *rows, uint32_t index, const struct capture_event *event,
	       uint32_t thread, uint32_t epoch, unsigned flag);

/* Times become nanoseconds and the rows live at the last peak are marked. */
void rows_seal(struct rows *rows, const struct clock *clock, size_t count_at_peak, uint32_t epoch);

struct model_allocations rows_columns(const struct rows *rows);

#endif
