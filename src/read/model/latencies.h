/*
 * latencies: how long calls took, gathered while a tape is replayed. Internal to model.
 *
 * Sums by function and by stack are in memory. What single rows are told, a number for the
 * allocation and one for the free, goes to a mapped file without a name - it is as large as the
 * tape, and a free may come at any time - and becomes columns of the segments when they are all
 * packed.
 */
#ifndef MEMTAPE_MODEL_LATENCIES_H
#define MEMTAPE_MODEL_LATENCIES_H

#include "model/image.h"
#include "model/latency.h"
#include "model/segment.h"

/* Whom the next latency of a stream is about. */
struct latency_of {
	uint32_t row; /* ROW_NONE: of a call that made or ended no row */
	uint32_t stack;
	uint8_t fn; /* TAPE_FN_EXTENDED: nobody */
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

/* is_small: the file is better in memory. */
struct err *latencies_create(bool has_rows, bool is_small, struct latencies **latencies_ret);
void latencies_destroy(struct latencies *latencies); /* NULL is fine */

bool latencies_reserve_stacks(struct latencies *latencies, size_t count);

/* Of a stack below what was reserved. ticks are not shifted. */
struct err *latencies_add(struct latencies *latencies, const struct latency_of *of, uint64_t ticks);

/* Writes the columns of all segments to the image in which their rows are. */
struct err *latencies_store(const struct latencies *latencies, struct segment *segments,
			    size_t segment_count, double tick_ns, struct image *image);

/* After that: sums become nanoseconds. */
void latencies_seal(struct latencies *latencies, double tick_ns);

#endif
