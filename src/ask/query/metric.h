/*
 * metric: what a report is about, and so what it sorts by and draws.
 */
#ifndef MEMTAPE_QUERY_METRIC_H
#define MEMTAPE_QUERY_METRIC_H

#include "model/model.h"

enum metric {
	METRIC_PEAK,	  /* bytes alive when live bytes were highest */
	METRIC_LEAKED,	  /* bytes alive at the end */
	METRIC_ALLOCATED, /* bytes allocated altogether */
	METRIC_COUNT,	  /* allocations */
	METRIC_TEMPORARY, /* allocations freed before their thread allocated again */
	/* Without words: for those who ask in other ways (query/measure.h). */
	METRIC_LEAKED_COUNT,
	METRIC_TEMPORARY_BYTES
};

enum { METRICS = METRIC_TEMPORARY + 1 /* those with words */ };

/* The words of --sort and --metric, in the order of the enum, NULL at the end. */
extern const char *const metric_words[];

/* "alive at the peak" */
const char *metric_title(enum metric metric);
bool metric_is_bytes(enum metric metric);

/* The bytes or the count that the metric is about, and the number of allocations behind it. */
uint64_t metric_value(enum metric metric, const struct model_stack_sums *sums);
uint64_t metric_calls(enum metric metric, const struct model_stack_sums *sums);
uint64_t metric_bytes(enum metric metric, const struct model_stack_sums *sums);

void metric_sums_add(struct model_stack_sums *to, const struct model_stack_sums *from);

/* Of the whole model, in the shape of one stack's. */
struct model_stack_sums metric_totals(const struct model *model);

#endif
