/*
 * ranking: functions that allocate, sorted by a metric, largest first.
 */
#ifndef MEMTAPE_ANSWER_RANKING_H
#define MEMTAPE_ANSWER_RANKING_H

#include "answer/about.h"
#include "answer/frame.h"
#include "sums/sites.h"

struct ranked {
	struct place place;
	uint64_t peak_bytes, peak_count;
	uint64_t leaked_bytes, leaked_count;
	uint64_t allocated_bytes, allocated_count;
	uint64_t temporary_bytes, temporary_count;
	uint64_t stacks;
	uint32_t stack; /* with most of the metric */
};

struct ranking {
	const char *sort;
	struct shape_rows sites; /* struct ranked */
	struct about about;
	/* Not members: the data behind the rows, for text with more detail. */
	struct sites found;
	enum metric metric;
};

extern const struct shape shape_ranked;
extern const struct shape shape_ranking;

/* By asked->sort, which is an enum metric. */
struct err *ranking_ask(const struct asked *asked, void *result);

#endif
