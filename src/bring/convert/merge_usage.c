/*
 * What memory the processes of a session had over time, as its manifest says; their sums; and how
 * the system was, as the first process's tapes say. All of it is kept until the end: records of a
 * stream are in order of time.
 */
#include "base/sort.h"
#include "convert/merge_parts.h"

static int by_time(const void *context, const void *a, const void *b)
{
	const struct merge_kept *left = a, *right = b;

	(void)context;
	return sort_compare_u64(left->ns, right->ns);
}

bool merge_keep(struct merge *merge, uint64_t ns, enum tape_extended type, const void *payload,
		size_t bytes)
{
	struct merge_kept kept = { .ns = ns, .type = type, .bytes = bytes };
	void *copy = arena_array(&merge->arena, bytes, 1);

	if (!copy)
		return false;
	memcpy(copy, payload, bytes);
	kept.payload = copy;
	return merge_kepts_push(&merge->kept, kept);
}

/* The moment is over: the sums of all that were measured. */
static bool sums_keep(struct merge *merge, uint64_t ns, const struct tape_usage *sums)
{
	return sums->rss_bytes == UINT64_MAX ||
	       merge_keep(merge, ns, TAPE_EXT_USAGE, sums, sizeof(*sums));
}

static bool usages_keep(struct merge *merge)
{
	const struct session *session = merge->session;
	const struct manifest_usages *usages = &session->manifest.usages;
	struct tape_usage sums, unknown;
	uint64_t now_ns = 0;

	memset(&unknown, 0xff, sizeof(unknown));
	sums = unknown;
	for (size_t i = 0; i < usages->count; i++) {
		const struct manifest_usage *usage = &usages->items[i];
		const uint32_t number = session->usage_members[usage->tape];
		const uint64_t ns = usage->monotonic_ns > merge->begin_ns
					    ? usage->monotonic_ns - merge->begin_ns
					    : 0;
		const struct tape_member_usage record = { number, 0, usage->rss, usage->pss,
							  usage->private };

		if (number == UINT32_MAX)
			continue;
		if (ns != now_ns && !sums_keep(merge, now_ns, &sums))
			return false;
		if (ns != now_ns || sums.rss_bytes == UINT64_MAX) {
			sums = unknown;
			sums.rss_bytes = sums.pss_bytes = 0;
		}
		now_ns = ns;
		sums.rss_bytes += usage->rss;
		sums.pss_bytes += usage->pss;
		if (!merge_keep(merge, ns, TAPE_EXT_MEMBER_USAGE, &record, sizeof(record)))
			return false;
	}
	return sums_keep(merge, now_ns, &sums);
}

bool merge_kept_write(struct merge *merge)
{
	struct strand *rest = compose_strand(merge->composer, COMPOSE_STREAM_REST);

	if (!usages_keep(merge) || !sort_stable(merge->kept.items, merge->kept.count,
						sizeof(*merge->kept.items), by_time, NULL))
		return false;
	for (size_t i = 0; i < merge->kept.count; i++) {
		const struct merge_kept *kept = &merge->kept.items[i];

		compose_record(merge->composer, rest, u64_min(kept->ns, merge->end_ns),
			       &(struct compose_record) { .type = kept->type,
							  .payload = kept->payload,
							  .bytes = kept->bytes });
	}
	return true;
}
