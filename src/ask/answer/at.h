/*
 * at: what was alive at a moment, and who had allocated it.
 */
#ifndef MEMTAPE_ANSWER_AT_H
#define MEMTAPE_ANSWER_AT_H

#include "answer/about.h"
#include "sums/sites.h"

struct at_answer {
	uint64_t at_ns;
	uint64_t live_bytes, live_count;
	struct shape_rows sites;
	struct quality quality;
	/* No members: what the rows were made of. */
	const struct site *const *ranked;
};

#endif
