/*
 * rss: why the process is as large as it is. Bands that add up, exactly, to the resident bytes of
 * every usage sample.
 *
 * What is known how:
 *
 * - Live and slack (usable less requested) are sums of the blocks on the tape. They count whether
 *   resident or not; what of them is not is the band `untouched`, which is negative.
 * - At a snapshot of the address space, resident bytes of every mapping are the kernel's, and so
 * are the pages of the heap that are resident. Such a sample is `measured`.
 * - Between snapshots only RSS and its file part are known. Mappings other than the heap are taken
 *   to change evenly, and what anonymous memory changed otherwise is taken to be the heap: an
 *   estimate.
 * - Without any snapshot (old tapes, recordings without a collector) all but live and slack is
 *   remainder.
 */
#ifndef MEMTAPE_SPACE_RSS_H
#define MEMTAPE_SPACE_RSS_H

#include "space/space.h"

enum rss_band {
	RSS_LIVE,      /* requested bytes of live blocks */
	RSS_SLACK,     /* what their blocks are larger than was asked for */
	RSS_UNTOUCHED, /* of both, not resident: never written to, given back, or swapped; <= 0 */
	RSS_FREE,      /* resident in the heap and in no live block: free, or the allocator's own */
	RSS_PROGRAM,
	RSS_UNSEEN,
	RSS_FILE,
	RSS_SHARED,
	RSS_MODULE,
	RSS_STACK,
	RSS_MEMTAPE,
	RSS_KERNEL,
	RSS_REMAINDER /* what is left: what changed while it was counted; may be negative */
};

enum { RSS_BANDS = RSS_REMAINDER + 1 };

extern const char *const rss_band_words[]; /* by band: "live" ... NULL at the end */
const char *rss_band_title(enum rss_band band);

struct rss_sample {
	uint64_t ns;
	uint64_t rss_bytes;
	int64_t bands[RSS_BANDS]; /* their sum is rss_bytes */
	uint64_t heap_resident;	  /* bytes; of heap and mappings with blocks */
	uint64_t live_count;
	bool is_measured;
};

VEC_DEFINE(rss_sample_vec, struct rss_sample);

struct rss {
	struct rss_sample_vec samples; /* those of the model that know RSS, in the order of time */
	size_t snapshot_count;
	/*
	 * Indices; of measured samples where there are any (the peak: where one is not 2 % below).
	 */
	size_t peak;	  /* most RSS, give or take 2 %; of those, with most `free` */
	size_t last;	  /* the last */
	size_t most_free; /* the largest band `free` */
	bool pages_known; /* in every snapshot, which pages of the heap are resident was known */
};

/* Undone by rss_deinit. A tape without samples gives none. Needs a MODEL_FULL model. */
struct err *rss_explain(const struct model *model, struct rss *rss_ret);
void rss_deinit(struct rss *rss);
CLEAN_DEFINE_DEINIT(rss_deinit, struct rss);

#endif
