/*
 * rss: why the process is as large as it is: bands that add up to its resident bytes, and in words
 * what stands between RSS and the live blocks.
 */
#ifndef MEMTAPE_ANSWER_RSS_H
#define MEMTAPE_ANSWER_RSS_H

#include "answer/about.h"
#include "base/str.h"
#include "space/rss.h"
#include "space/space_waste.h"

struct rss_answer {
	const char *explanation;
	uint64_t snapshots;
	bool pages_known;
	uint64_t peak_sample, most_free_sample; /* indices; SHAPE_NONE: there are no samples */
	struct shape_rows samples;		/* of struct rss_sample */
	struct quality quality;
	size_t last_sample; /* no member */
};

/* waste: of the heap where RSS was highest; NULL: nothing is known of it. Internal to rss. */
void rss_words(struct str *out, const struct rss *rss, const struct space_waste *waste);

#endif
