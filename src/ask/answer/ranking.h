/*
 * ranking: functions that allocate, the most of a metric first.
 */
#ifndef MEMTAPE_ANSWER_RANKING_H
#define MEMTAPE_ANSWER_RANKING_H

#include "answer/about.h"
#include "sums/sites.h"

struct ranking {
	const char *sort;
	struct shape_rows sites;
	struct about about;
	/* No members: what the rows were made of, for a text that shows more of each. */
	struct sites found;
	enum metric metric;
};

extern const struct shape shape_ranking;

/* By asked->sort, which is an enum metric. */
struct err *ranking_ask(const struct asked *asked, void *result);

#endif
