#include "model/rows.h"

#include <assert.h>

#include "base/big.h"

enum { COUNT_MAX = UINT32_MAX - 1, CAPACITY_FIRST = 1 << 12 };

#define RELEASE(rows, column) big_free((rows)->column, (rows)->capacity * sizeof(*(rows)->column))

void rows_deinit(struct rows *rows)
{
	RELEASE(rows, address);
	RELEASE(rows, size);
	RELEASE(rows, usable);
	RELEASE(rows, alloc_time);
	RELEASE(rows, free_time);
	RELEASE(rows, thread);
	RELEASE(rows, free_thread);
	RELEASE(rows, stack);
	RELEASE(rows, free_stack);
	RELEASE(rows, realloc_of);
	RELEASE(rows, free_epoch);
	RELEASE(rows, fn);
	RELEASE(rows, free_fn);
	RELEASE(rows, flags);
	*rows = (struct rows) { 0 };
}

#define GROW(column, capacity)                                                                     \
	({                                                                                         \
		__typeof__(column) moved_ = big_resize(column, rows->capacity * sizeof(*(column)), \
						       (capacity) * sizeof(*(column)));            \
		if (moved_)                                                                        \
			(column) = moved_;                                                         \
		moved_ != NULL;                                                                    \
	})

static bool rows_grow(struct rows *rows)
{
	size_t capacity = u64_max(rows->capacity * 2, CAPACITY_FIRST);

	if (!GROW(rows->address, capacity) || !GROW(rows->size, capacity) ||
	    !GROW(rows->usable, capacity) || !GROW(rows->alloc_time, capacity) ||
	    !GROW(rows->free_time, capacity) || !GROW(rows->thread, capacity) ||
	    !GROW(rows->free_thread, capacity) || !GROW(rows->stack, capacity) ||
	    !GROW(rows->free_stack, capacity) || !GROW(rows->realloc_of, capacity) ||
	    !GROW(rows->free_epoch, capacity) || !GROW(rows->fn, capacity) ||
	    !GROW(rows->free_fn, capacity) || !GROW(rows->flags, capacity))
		return false;
	rows->capacity = capacity;
	return true;
}

struct err *rows_add(struct rows *rows, const struct capture_event *event, uint32_t thread,
		     uint32_t realloc_of)
{
	size_t at = rows->count;

	if (at == COUNT_MAX)
		return err_new(ERR_LIMIT, "more than %u allocations", COUNT_MAX);
	if (unlikely(at == rows->capacity) && !rows_grow(rows))
		return err_nomem();
	rows->address[at] = event->address;
	rows->size[at] = event->size;
	rows->usable[at] = event->usable;
	rows->alloc_time[at] = event->ticks;
	rows->free_time[at] = MODEL_NEVER;
	rows->thread[at] = thread;
	rows->free_thread[at] = MODEL_NO_THREAD;
	rows->stack[at] = event->stack;
	rows->free_stack[at] = CAPTURE_STACK_NONE;
	rows->realloc_of[at] = realloc_of;
	rows->free_epoch[at] = 0;
	rows->fn[at] = (uint8_t)event->fn;
	rows->free_fn[at] = TAPE_FN_EXTENDED;
	rows->flags[at] = 0;
	rows->count++;
	return NULL;
}

void rows_free(struct rows *rows, uint32_t index, const struct capture_event *event,
	       uint32_t thread, uint32_t epoch, unsigned flag)
{
	assert(index < rows->count);
	rows->free_time[index] = event->ticks;
	rows->free_thread[index] = thread;
	rows->free_stack[index] = event->stack;
	rows->free_epoch[index] = epoch;
	rows->free_fn[index] = (uint8_t)event->fn;
	rows->flags[index] |= (uint8_t)flag;
}

void rows_seal(struct rows *rows, const struct clock *clock, size_t count_at_peak, uint32_t epoch)
{
	size_t alloc_hint = 0, free_hint = 0;

	for (size_t i = 0; i < rows->count; i++) {
		bool is_freed = rows->free_time[i] != MODEL_NEVER;

		if (i < count_at_peak && (!is_freed || rows->free_epoch[i] == epoch))
			rows->flags[i] |= MODEL_ALLOCATION_PEAK;
		rows->alloc_time[i] = clock_ns_hinted(clock, rows->alloc_time[i], &alloc_hint);
		if (is_freed)
			rows->free_time[i] = clock_ns_hinted(clock, rows->free_time[i], &free_hint);
	}
	RELEASE(rows, free_epoch);
	rows->free_epoch = NULL;
}

struct model_allocations rows_columns(const struct rows *rows)
{
	return (struct model_allocations) {
		.count = rows->count,
		.address = rows->address,
		.size = rows->size,
		.usable = rows->usable,
		.alloc_ns = rows->alloc_time,
		.free_ns = rows->free_time,
		.thread = rows->thread,
		.free_thread = rows->free_thread,
		.stack = rows->stack,
		.free_stack = rows->free_stack,
		.realloc_of = rows->realloc_of,
		.fn = rows->fn,
		.free_fn = rows->free_fn,
		.flags = rows->flags,
	};
}
