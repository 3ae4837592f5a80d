/*
 * rss: explains the size of the process. Bands that add up, exactly, to the resident bytes of
 * every usage sample.
 *
 * Sources of the bands:
 *
 * - Live and slack (usable minus requested) are sums over the blocks on the tape, resident or not;
 *   their non-resident part is the band `untouched`, which is negative.
 * - At a snapshot of the address space, the kernel gives the resident bytes of every mapping and
 *   the resident pages of the heap. Such a sample is `measured`.
 * - Between snapshots only RSS and its file part are known. Mappings other than the heap are
 *   interpolated, and other changes of anonymous memory are assumed to be the heap: an estimate.
 * - Without any snapshot (old tapes, recordings without a collector) everything but live and slack
 *   is remainder.
 */
#ifndef MEMTAPE_SPACE_RSS_H
#define MEMTAPE_SPACE_RSS_H

#include "space/space.h"

enum rss_band {
	RSS_LIVE,      /* requested bytes of live blocks */
	RSS_SLACK,     /* usable minus requested bytes of live blocks */
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
	RSS_REMAINDER /* the rest: changes during measurement; may be negative */
};

enum { RSS_BANDS = RSS_REMAINDER + 1 };

extern const char *const rss_band_words[]; /* by band: "live" ... NULL at the end */
const char *rss_band_title(enum rss_band band);

struct rss_sample {
	uint64_t ns;
	uint64_t rss_bytes;
	int64_t bands[RSS_BANDS]; /* their sum is rss_bytes */
	uint64_t heap_resident;	  /* bytes; heap and mappings with blocks */
	uint64_t live_count;
	bool is_measured;
};

VEC_DEFINE(rss_sample_vec, struct rss_sample);

struct rss {
	struct rss_sample_vec samples; /* samples with known RSS, in time order */
	size_t snapshot_count;
	/*
	 * Indices; measured samples are preferred (for the peak: one within 2 %).
	 */
	size_t peak;	  /* highest RSS, within 2 %; of those, most `free` */
	size_t last;	  /* the last */
	size_t most_free; /* the largest band `free` before blocks are freed at the end */
	bool pages_known; /* resident heap pages were known in every snapshot */
	struct space_mark_vec marks; /* for space_follow_marks(): of all snapshots */
};

/* Undone by rss_deinit. Without samples on the tape the result is empty. Needs MODEL_FULL. */
struct err *rss_explain(const struct model *model, struct rss *rss_ret);
void rss_deinit(struct rss *rss);
CLEAN_DEFINE_DEINIT(rss_deinit, struct rss);

#endif
