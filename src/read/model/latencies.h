/*
 * latencies: durations of calls, gathered while a tape is replayed. Internal to model.
 *
 * Sums by function and by stack are in memory. Values of single rows, one for the allocation and
 * one for the free, go to an unnamed mapped file - it is as large as the tape, and a free may come
 * at any time - and become columns of the segments when they are all packed.
 */
#ifndef MEMTAPE_MODEL_LATENCIES_H
#define MEMTAPE_MODEL_LATENCIES_H

#include "model/image.h"
#include "model/latency.h"
#include "model/segment.h"

/* What a stream's next latency refers to. */
struct latency_of {
	uint32_t row; /* ROW_NONE: of a call that made or ended no row */
	uint32_t stack;
	uint8_t fn; /* TAPE_FN_EXTENDED: none */
	bool is_free;
};

struct latencies {
	struct model_latency *functions; /* by enum tape_fn; ticks, until they are sealed */
	struct model_stack_latency *stacks;
	size_t stack_room;
	struct image file; /* fd -1: rows are not kept */
	uint32_t *cells;   /* of a segment first those of allocations, then of frees */
	size_t segment_count;
	size_t segment_room; /* that are mapped */
};

/* is_small: the file is better kept in memory. */
struct err *latencies_create(bool has_rows, bool is_small, struct latencies **latencies_ret);
void latencies_destroy(struct latencies *latencies); /* NULL is fine */

bool latencies_reserve_stacks(struct latencies *latencies, size_t count);

/* Of a stack below the reserved count. ticks are not shifted. */
struct err *latencies_add(struct latencies *latencies, const struct latency_of *of, uint64_t ticks);

/* Writes the columns of all segments to the image that holds their rows. */
struct err *latencies_store(const struct latencies *latencies, struct segment *segments,
			    size_t segment_count, double tick_ns, struct image *image);

/* After that: converts sums to nanoseconds. */
void latencies_seal(struct latencies *latencies, double tick_ns);

#endif
