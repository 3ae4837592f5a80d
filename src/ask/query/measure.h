/*
 * measure: what can be drawn and ranked by, with the sums it is read from. The metrics of the
 * reports are among them; the others need a moment or more than a stack's sums have.
 */
#ifndef MEMTAPE_QUERY_MEASURE_H
#define MEMTAPE_QUERY_MEASURE_H

#include "query/selection.h"

enum measure {
	MEASURE_PEAK, /* bytes alive when live bytes of the program were highest */
	MEASURE_LIVE, /* bytes alive at a moment */
	MEASURE_ALLOCATED,
	MEASURE_COUNT, /* allocations */
	MEASURE_LEAKED,
	MEASURE_LEAKED_COUNT,
	MEASURE_TEMPORARY, /* allocations */
	MEASURE_TEMPORARY_BYTES,
	MEASURE_WASTED /* what the allocator gave on top of the sizes, in bytes, of all */
};

enum { MEASURES = MEASURE_WASTED + 1 };

/* In the order of the enum, NULL at the end. */
extern const char *const measure_words[];

const char *measure_title(enum measure measure);
bool measure_is_bytes(enum measure measure);

/* Of the measure's sums this metric is the measure. */
enum metric measure_metric(enum measure measure);

/* Whether its sums are those that the selection has. */
bool measure_is_of_selection(enum measure measure);

/*
 * Sums of the selection in which the metric is the measure; the other parts are those of the
 * selection, but `temporary` of MEASURE_LIVE and MEASURE_WASTED. at_ns is the moment of
 * MEASURE_LIVE. Needs MODEL_FULL for these two. Lives in the arena.
 */
struct err *measure_sums(const struct selection *selection, enum measure measure, uint64_t at_ns,
			 struct arena *arena, struct sums *sums_ret);

/*
 * Every measure at once, of each part of the selection: part_of[stack] is the number of the part
 * that the stack is in. values has room for MEASURES rows. In the memory of one moment at most,
 * while it runs. Needs MODEL_FULL; its limits end it.
 */
enum { MEASURE_PARTS = 3 };

struct err *measure_split(const struct selection *selection, uint64_t at_ns, const uint8_t *part_of,
			  uint64_t (*values)[MEASURE_PARTS]);

#endif
