/*
 * ranking: functions that allocate, sorted by a metric, largest first.
 */
#ifndef MEMTAPE_ANSWER_RANKING_H
#define MEMTAPE_ANSWER_RANKING_H

#include "answer/about.h"
#include "sums/sites.h"

struct ranking {
	const char *sort;
	struct shape_rows sites;
	struct about about;
	/* Not members: the data behind the rows, for text with more detail. */
	struct sites found;
	enum metric metric;
};

extern const struct shape shape_ranking;

/* By asked->sort, which is an enum metric. */
struct err *ranking_ask(const struct asked *asked, void *result);

#endif
