/*
 * timeline: live and resident bytes over time, in equal spans.
 */
#ifndef MEMTAPE_QUESTIONS_TIMELINE_H
#define MEMTAPE_QUESTIONS_TIMELINE_H

#include "answer/about.h"

struct timeline_step {
	uint64_t begin_ns;
	uint64_t live_bytes_max, live_bytes_end;
	uint64_t live_count_end;
	uint64_t allocated_count, allocated_bytes, free_count;
	uint64_t rss_bytes;
};

struct timeline_answer {
	struct shape_rows timeline; /* of struct timeline_step */
	struct quality quality;
};

#endif
