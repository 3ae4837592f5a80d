#include "collect/huge.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace/kinds.h"

enum { LINE_BYTES = 128 };

void huge_deinit(struct huge *huge)
{
	huge_ranges_deinit(&huge->before);
	*huge = (struct huge) { 0 };
}

bool huge_matters(const struct huge *huge, const struct space_snapshot *now)
{
	for (size_t i = 0; i < huge->before.count; i++)
		if (huge->before.items[i].huge_kib > 0)
			return true;
	for (size_t i = 0; i < now->extents.count; i++)
		if (now->extents.items[i].huge_kib > 0)
			return true;
	return false;
}

uint64_t huge_split_count(const char *path)
{
	static const char word[] = "thp_split_pmd ";
	CLEAN(fclose) FILE *file = fopen(path, "re");
	char line[LINE_BYTES];

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, word, strlen(word)) == 0)
			return strtoull(line + strlen(word), NULL, 10);
	return HUGE_UNKNOWN;
}

/* Mappings of both looks that overlap: they were cut, joined or grew in between. */
struct cluster {
	uint64_t begin, end;
	uint64_t rss_before, rss_after, huge_before, huge_after; /* KiB */
};

/* Adds those that overlap the cluster; true: there were some. */
static bool cluster_grow_before(struct cluster *cluster, const struct huge_ranges *ranges,
				size_t *at)
{
	const size_t first = *at;

	for (; *at < ranges->count && ranges->items[*at].begin < cluster->end; ++*at) {
		const struct huge_range *range = &ranges->items[*at];

		cluster->end = u64_max(cluster->end, range->end);
		cluster->rss_before += range->rss_kib;
		cluster->huge_before += range->huge_kib;
	}
	return *at > first;
}

static bool cluster_grow_after(struct cluster *cluster, const struct space_extents *extents,
			       size_t *at)
{
	const size_t first = *at;

	for (; *at < extents->count && extents->items[*at].begin < cluster->end; ++*at) {
		const struct space_extent *extent = &extents->items[*at];

		cluster->end = u64_max(cluster->end, extent->end);
		cluster->rss_after += extent->rss_kib;
		cluster->huge_after += extent->huge_kib;
	}
	return *at > first;
}

/* Bytes that are resident as before, but not in huge pages. */
static uint64_t cluster_lost(const struct cluster *cluster)
{
	const uint64_t huge =
		cluster->huge_before - u64_min(cluster->huge_before, cluster->huge_after);
	const uint64_t rss = cluster->rss_before - u64_min(cluster->rss_before, cluster->rss_after);

	return (huge - u64_min(huge, rss)) << 10;
}

static bool next_cluster(const struct huge_ranges *before, const struct space_extents *now,
			 size_t *before_at, size_t *now_at, struct cluster *cluster_ret)
{
	const uint64_t old =
		*before_at < before->count ? before->items[*before_at].begin : UINT64_MAX;
	const uint64_t young = *now_at < now->count ? now->items[*now_at].begin : UINT64_MAX;
	const uint64_t begin = u64_min(old, young);
	bool grows = true;

	if (begin == UINT64_MAX)
		return false;
	*cluster_ret = (struct cluster) { .begin = begin, .end = begin + 1 };
	while (grows) {
		grows = cluster_grow_before(cluster_ret, before, before_at);
		grows |= cluster_grow_after(cluster_ret, now, now_at);
	}
	return true;
}

/* Out of memory, the next look has nothing to compare with. */
static void keep(struct huge_ranges *ranges, const struct space_extents *now)
{
	ranges->count = 0;
	for (size_t i = 0; i < now->count; i++) {
		const struct space_extent *extent = &now->items[i];

		if (!huge_ranges_push(ranges,
				      (struct huge_range) { extent->begin, extent->end,
							    extent->rss_kib, extent->huge_kib })) {
			ranges->count = 0;
			return;
		}
	}
}

void huge_look(struct huge *huge, const struct space_snapshot *now, uint64_t split_count,
	       void (*lost)(void *context, const struct tape_huge_lost *lost), void *context)
{
	const bool is_bounded = split_count != HUGE_UNKNOWN && huge->split_count != HUGE_UNKNOWN;
	uint64_t rest =
		is_bounded ? split_count - u64_min(split_count, huge->split_count) : UINT64_MAX;
	size_t before_at = 0, now_at = 0;
	struct cluster cluster;

	assert(lost);
	if (huge->page_bytes == 0)
		huge->page_bytes = kinds_huge_page_bytes();
	while (next_cluster(&huge->before, &now->extents, &before_at, &now_at, &cluster)) {
		const uint64_t bytes = cluster_lost(&cluster);
		const uint64_t pages = u64_min(div_up(bytes, huge->page_bytes), rest);
		const struct tape_huge_lost found = {
			.begin = cluster.begin,
			.end = cluster.end,
			.before_bytes = cluster.huge_before << 10,
			.after_bytes = cluster.huge_after << 10,
			.lost_bytes = u64_min(bytes, pages * huge->page_bytes),
			.page_bytes = huge->page_bytes,
		};

		if (pages > 0)
			lost(context, &found);
		rest -= pages;
	}
	keep(&huge->before, &now->extents);
	huge->split_count = split_count;
}
