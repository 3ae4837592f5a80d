#include "sums/metric.h"

#include <assert.h>

const char *const metric_words[] = { METRIC_WORDS, NULL };
const char *const metric_words_all[] = { METRIC_WORDS, METRIC_WORDS_MORE, NULL };
const char *const metric_words_stacks[] = { METRIC_WORDS, METRIC_WORDS_STACKS, NULL };
static_assert(array_size(metric_words) == METRICS + 1, "a word for each");
static_assert(array_size(metric_words_all) == METRICS_NAMED + 1, "a word for each");

/*
 * Metrics without a member in a stack's sums (live at a moment, slack, retained size, stale, what the
 * kernel did) are stored in `temporary` (groups/measure.h).
 */
static const struct metric_row {
	size_t sum; /* offset in struct model_stack_sums */
	bool is_bytes;
	const char *key;
	const char *group_key;
	const char *title;
} rows[METRICS_KEYED] = {
#define OF(member) offsetof(struct model_stack_sums, member)
	[METRIC_PEAK] = { OF(peak), true, "peak_bytes", "peak_size", "alive at the peak" },
	[METRIC_LEAKED] = { OF(leaked), true, "leaked_bytes", "leaked_size", "leaked" },
	[METRIC_ALLOCATED] = { OF(allocated), true, "allocated_bytes", "size", "allocated" },
	[METRIC_COUNT] = { OF(allocated), false, "allocated_count", "allocated_count",
			   "allocations" },
	[METRIC_TEMPORARY] = { OF(temporary), false, "temporary_count", "temporary_count",
			       "temporary allocations" },
	[METRIC_LIVE] = { OF(temporary), true, NULL, NULL, "alive at the moment" },
	[METRIC_LEAKED_COUNT] = { OF(leaked), false, "leaked_count", "leaked_count",
				  "blocks leaked" },
	[METRIC_TEMPORARY_BYTES] = { OF(temporary), true, "temporary_bytes", "temporary_size",
				     "temporary bytes" },
	[METRIC_WASTED] = { OF(temporary), true, NULL, NULL, "wasted by the allocator" },
	[METRIC_RETAINED] = { OF(temporary), true, NULL, NULL, "retained size" },
	[METRIC_STALE] = { OF(temporary), true, NULL, NULL, "alive and not used" },
	[METRIC_BRK] = { OF(temporary), true, NULL, NULL, "growth of the heap" },
	[METRIC_MMAP] = { OF(temporary), true, NULL, NULL, "mapped" },
	[METRIC_MUNMAP] = { OF(temporary), true, NULL, NULL, "unmapped" },
	[METRIC_FAULTS] = { OF(temporary), false, NULL, NULL, "page faults" },
	[METRIC_MAJOR_FAULTS] = { OF(temporary), false, NULL, NULL, "major page faults" },
	[METRIC_OWNED_FAULTS] = { OF(temporary), false, NULL, NULL, "page faults in blocks" },
	[METRIC_PEAK_COUNT] = { OF(peak), false, "peak_count", "peak_count",
				"blocks alive at the peak" },
};

const char *metric_title(enum metric metric)
{
	assert((unsigned)metric < METRICS_KEYED);
	return rows[metric].title;
}

const char *metric_title_so_far(enum metric metric)
{
	static const char *const titles[METRICS_KEYED] = {
		[METRIC_LEAKED] = "not freed yet",
		[METRIC_LEAKED_COUNT] = "blocks not freed yet",
	};

	assert((unsigned)metric < METRICS_KEYED);
	return titles[metric] ? titles[metric] : rows[metric].title;
}

const char *metric_doc(enum metric metric)
{
	static const char *const docs[METRICS_NAMED] = {
		[METRIC_PEAK] = "Requested bytes alive when the live bytes of the whole recording "
				"were highest: how much memory the program needs. With a time "
				"range, those of them that were allocated in it.",
		[METRIC_LEAKED] = "Bytes of blocks allocated in the time range and not freed "
				  "before the recording ended.",
		[METRIC_ALLOCATED] = "All bytes requested in the time range, freed or not.",
		[METRIC_COUNT] = "Number of blocks allocated in the time range; a realloc counts "
				 "as one.",
		[METRIC_TEMPORARY] = "Number of blocks freed before their thread allocated the "
				     "next one: candidates for the stack or for reuse.",
		[METRIC_LIVE] = "Requested bytes alive at the time point.",
		[METRIC_LEAKED_COUNT] = "Number of blocks allocated in the time range and not "
					"freed before the recording ended.",
		[METRIC_TEMPORARY_BYTES] = "Bytes of temporary allocations.",
		[METRIC_WASTED] = "Usable minus requested bytes of all blocks: the cost of "
				  "rounding up to the allocator's size classes.",
		[METRIC_RETAINED] =
			"What the blocks of a stack keep alive at the last leak scan: their own "
			"bytes, and those of blocks that would be unreachable without them. Each "
			"byte counts once: for the outermost of the selected blocks through which "
			"every chain of pointers to it leads.",
		[METRIC_STALE] =
			"Bytes of live blocks in pages that were not touched between two looks, "
			"before the program ended: memory that nobody uses. What counts as a touch "
			"- writes, or reads too - is on the tape.",
		[METRIC_BRK] = "Bytes by which brk() has moved the heap's end up, as `memtape "
			       "trace` saw it.",
		[METRIC_MMAP] = "Bytes mapped by mmap(), as `memtape trace` saw it.",
		[METRIC_MUNMAP] = "Bytes unmapped by munmap(), as `memtape trace` saw it.",
		[METRIC_FAULTS] = "Page faults, as `memtape trace` saw them.",
		[METRIC_MAJOR_FAULTS] = "Page faults that waited for a disk, as `memtape trace` "
					"saw them.",
		[METRIC_OWNED_FAULTS] =
			"Page faults in blocks of the heap, by who allocated these, whoever "
			"touched them, as `memtape record --trace=faults` saw them.",
	};

	assert((unsigned)metric < METRICS_NAMED);
	return docs[metric];
}

bool metric_has_spans(enum metric metric)
{
	assert((unsigned)metric < METRICS_KEYED);
	return metric == METRIC_ALLOCATED || metric == METRIC_COUNT || metric == METRIC_TEMPORARY ||
	       metric == METRIC_TEMPORARY_BYTES;
}

bool metric_is_member(enum metric metric)
{
	assert((unsigned)metric < METRICS_KEYED);
	return metric != METRIC_LIVE && (metric < METRIC_WASTED || metric > METRIC_OWNED_FAULTS);
}

bool metric_is_bytes(enum metric metric)
{
	assert((unsigned)metric < METRICS_KEYED);
	return rows[metric].is_bytes;
}

const char *metric_key(enum metric metric)
{
	assert((unsigned)metric < METRICS_KEYED);
	return rows[metric].key;
}

const char *metric_group_key(enum metric metric)
{
	assert((unsigned)metric < METRICS_KEYED);
	return rows[metric].group_key;
}

static const struct model_sum *sum_of(enum metric metric, const struct model_stack_sums *sums)
{
	assert((unsigned)metric < METRICS_KEYED);
	return (const struct model_sum *)((const char *)sums + rows[metric].sum);
}

uint64_t metric_value(enum metric metric, const struct model_stack_sums *sums)
{
	const struct model_sum *sum = sum_of(metric, sums);

	return rows[metric].is_bytes ? sum->bytes : sum->count;
}

uint64_t metric_calls(enum metric metric, const struct model_stack_sums *sums)
{
	return sum_of(metric, sums)->count;
}

uint64_t metric_bytes(enum metric metric, const struct model_stack_sums *sums)
{
	return sum_of(metric, sums)->bytes;
}

static void sum_add(struct model_sum *to, const struct model_sum *from)
{
	to->count += from->count;
	to->bytes += from->bytes;
}

void metric_sums_add(struct model_stack_sums *to, const struct model_stack_sums *from)
{
	assert(to != from);
	sum_add(&to->allocated, &from->allocated);
	sum_add(&to->peak, &from->peak);
	sum_add(&to->leaked, &from->leaked);
	sum_add(&to->temporary, &from->temporary);
}

struct model_stack_sums metric_totals(const struct model *model)
{
	const struct model_totals *totals = model_totals(model);

	return (struct model_stack_sums) {
		.allocated = totals->allocated,
		.peak = totals->peak,
		.leaked = totals->leaked,
		.temporary = totals->temporary,
	};
}
