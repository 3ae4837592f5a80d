/*
 * metric: quantities for ranking, drawing, comparing and limiting: each with its words, its unit
 * and its member in the sums of a stack. The only table of them.
 */
#ifndef MEMTAPE_SUMS_METRIC_H
#define MEMTAPE_SUMS_METRIC_H

#include "model/model.h"

enum metric {
	METRIC_PEAK,	  /* bytes alive when live bytes of the program were highest */
	METRIC_LEAKED,	  /* bytes never freed, and not suppressed */
	METRIC_ALLOCATED, /* bytes allocated in total */
	METRIC_COUNT,	  /* allocations */
	METRIC_TEMPORARY, /* allocations freed before their thread allocated again */
	METRIC_LIVE,	  /* bytes alive at a moment: needs special sums, see measure_sums */
	METRIC_LEAKED_COUNT,
	METRIC_TEMPORARY_BYTES,
	METRIC_WASTED,	 /* usable minus requested bytes: needs them too */
	METRIC_RETAINED, /* bytes kept alive at a leak scan: needs them too */
	METRIC_STALE,	 /* live bytes not touched for a while: needs them too */
	/* What the kernel did (tape/tape_kernel.h): need them too. In the order of its kinds. */
	METRIC_BRK,    /* bytes by which the heap's end was moved up */
	METRIC_MMAP,   /* bytes mapped */
	METRIC_MUNMAP, /* bytes unmapped */
	METRIC_FAULTS, /* page faults */
	METRIC_MAJOR_FAULTS,
	METRIC_OWNED_FAULTS, /* page faults in the blocks of a stack: needs them too */
	METRIC_PEAK_COUNT
};

enum {
	METRICS = METRIC_TEMPORARY + 1,		 /* metrics that need only the sums of stacks */
	METRICS_NAMED = METRIC_OWNED_FAULTS + 1, /* metrics that can be selected by a word */
	METRICS_KEYED = METRIC_PEAK_COUNT + 1
};

/* The words of both groups: for static tables with more words. */
#define METRIC_WORDS	  "peak", "leaked", "allocated", "count", "temporary"
#define METRIC_WORDS_MORE "live", "leaked_count", "temporary_bytes", "wasted", METRIC_WORDS_STACKS
#define METRIC_WORDS_STACKS                                                                        \
	"retained", "stale", "brk", "mmap", "munmap", "faults", "major_faults", "owned_faults"

/* --sort, --metric and --fail-if; the server's `m`. In enum order, NULL-terminated. */
extern const char *const metric_words[];
extern const char *const metric_words_all[];

/* Of what has one number a stack: the first group, and `retained` and those after it. */
extern const char *const metric_words_stacks[];

static inline enum metric metric_of_stacks(unsigned index)
{
	return (enum metric)(index < METRICS ? index : METRIC_RETAINED + index - METRICS);
}

/* Whether it is of events of the kernel: a tape of allocations has none. */
static inline bool metric_is_of_kernel(enum metric metric)
{
	return metric >= METRIC_BRK && metric <= METRIC_MAJOR_FAULTS;
}

/* Whether measure_sums makes it of no parameter but the selection. */
static inline bool metric_is_seen(enum metric metric)
{
	return metric == METRIC_STALE || metric == METRIC_OWNED_FAULTS ||
	       metric_is_of_kernel(metric);
}

/* "alive at the peak" */
const char *metric_title(enum metric metric);

/* The same on a tape whose program goes on: "not freed yet" where the other says "leaked". */
const char *metric_title_so_far(enum metric metric);

/* The one of both that is right of a tape; goes_on: model_goes_on(). */
static inline const char *metric_title_of(enum metric metric, bool goes_on)
{
	return goes_on ? metric_title_so_far(metric) : metric_title(metric);
}
bool metric_is_bytes(enum metric metric);

/*
 * Whether it has a member of its own in the sums of a stack. Sums made for others
 * (groups/measure.h) have them where temporary allocations would be.
 */
bool metric_is_member(enum metric metric);

/* Explains a metric in sentences, for users who choose one. */
const char *metric_doc(enum metric metric);

/* Whether it is additive over time, so that spans can be compared. */
bool metric_has_spans(enum metric metric);

/* "leaked_bytes": JSON member, CSV and SQL column. NULL for those without. */
const char *metric_key(enum metric metric);

/* "leaked_size": sort key of groups, in memory-profiler's words; NULL for the same. */
const char *metric_group_key(enum metric metric);

/* The metric's bytes or count, and the number of allocations behind it. */
uint64_t metric_value(enum metric metric, const struct model_stack_sums *sums);
uint64_t metric_calls(enum metric metric, const struct model_stack_sums *sums);
uint64_t metric_bytes(enum metric metric, const struct model_stack_sums *sums);

/* Whether there is anything in it: allocations, or what is where temporary ones would be. */
static inline bool metric_sums_any(const struct model_stack_sums *sums)
{
	return sums->allocated.count > 0 || sums->peak.count > 0 || sums->leaked.count > 0 ||
	       sums->temporary.count > 0;
}

void metric_sums_add(struct model_stack_sums *to, const struct model_stack_sums *from);

/* Totals of the whole model, as one stack's sums. */
struct model_stack_sums metric_totals(const struct model *model);

#endif
