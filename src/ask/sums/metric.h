/*
 * metric: what can be ranked, drawn, compared and limited by, and what is said of sums: each with
 * its words, its unit and how it is found in the sums of a stack. The one table of them.
 */
#ifndef MEMTAPE_SUMS_METRIC_H
#define MEMTAPE_SUMS_METRIC_H

#include "model/model.h"

enum metric {
	METRIC_PEAK,	  /* bytes alive when live bytes of the program were highest */
	METRIC_LEAKED,	  /* bytes never freed, and not suppressed */
	METRIC_ALLOCATED, /* bytes allocated altogether */
	METRIC_COUNT,	  /* allocations */
	METRIC_TEMPORARY, /* allocations freed before their thread allocated again */
	METRIC_LIVE,	  /* bytes alive at a moment: of sums that are made for it, measure_sums */
	METRIC_LEAKED_COUNT,
	METRIC_TEMPORARY_BYTES,
	METRIC_WASTED, /* what the allocator gave on top of the sizes, in bytes: the same */
	METRIC_PEAK_COUNT
};

enum {
	METRICS = METRIC_TEMPORARY + 1,	   /* those that need no more than sums of stacks */
	METRICS_NAMED = METRIC_WASTED + 1, /* those that can be asked for by a word */
	METRICS_KEYED = METRIC_PEAK_COUNT + 1
};

/* The words of the first, and of the others: for a static table of more words. */
#define METRIC_WORDS	  "peak", "leaked", "allocated", "count", "temporary"
#define METRIC_WORDS_MORE "live", "leaked_count", "temporary_bytes", "wasted"

/* --sort, --metric and --fail-if; the server's `m`. In the order of the enum, NULL at the end. */
extern const char *const metric_words[];
extern const char *const metric_words_all[];

/* "alive at the peak" */
const char *metric_title(enum metric metric);
bool metric_is_bytes(enum metric metric);

/* What one with a word means, in sentences, for those who choose one. */
const char *metric_doc(enum metric metric);

/* Whether it adds up over a span of time, so that spans can be compared. */
bool metric_has_spans(enum metric metric);

/* "leaked_bytes": its member in JSON, its column in CSV and SQL. NULL: of LIVE and WASTED. */
const char *metric_key(enum metric metric);

/* "leaked_size": what groups are sorted by, in the words of memory-profiler; NULL: of the same. */
const char *metric_group_key(enum metric metric);

/* The bytes or the count that the metric is about, and the number of allocations behind it. */
uint64_t metric_value(enum metric metric, const struct model_stack_sums *sums);
uint64_t metric_calls(enum metric metric, const struct model_stack_sums *sums);
uint64_t metric_bytes(enum metric metric, const struct model_stack_sums *sums);

void metric_sums_add(struct model_stack_sums *to, const struct model_stack_sums *from);

/* Of the whole model, in the shape of one stack's. */
struct model_stack_sums metric_totals(const struct model *model);

#endif
