/*
 * huge: huge pages (THP) of a process that were lost between two looks at its mappings though their
 * memory was not: an estimate of those that were split into small pages. Internal to collect.
 *
 * Where the machine says how many huge pages it has split since then, it is no more than that.
 */
#ifndef MEMTAPE_COLLECT_HUGE_H
#define MEMTAPE_COLLECT_HUGE_H

#include "collect/space.h"
#include "tape/tape_kernel.h"

#define HUGE_UNKNOWN UINT64_MAX

struct huge_range {
	uint64_t begin, end;
	uint64_t rss_kib, huge_kib;
};

VEC_DEFINE(huge_ranges, struct huge_range);

struct huge {
	struct huge_ranges before; /* of the last look; ascending, not overlapping */
	uint64_t split_count;	   /* of the machine, then; HUGE_UNKNOWN */
	uint64_t page_bytes;	   /* 0: not asked yet */
};

/* An all-zero one has not looked yet. */
void huge_deinit(struct huge *huge);

/* Whether any of the snapshot's memory, or of that of the last look, is in huge pages. */
bool huge_matters(const struct huge *huge, const struct space_snapshot *now);

/*
 * A SPACE_FULL snapshot. split_count: of the machine since it was started, or HUGE_UNKNOWN. Calls
 * lost for each range that has lost huge pages; a range may be several mappings, then or now.
 */
void huge_look(struct huge *huge, const struct space_snapshot *now, uint64_t split_count,
	       void (*lost)(void *context, const struct tape_huge_lost *lost), void *context);

/* thp_split_pmd of a /proc/vmstat; HUGE_UNKNOWN: it is not there. */
uint64_t huge_split_count(const char *path);

#endif
