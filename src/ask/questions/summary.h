/*
 * summary: the figures most users want first.
 */
#ifndef MEMTAPE_QUESTIONS_SUMMARY_H
#define MEMTAPE_QUESTIONS_SUMMARY_H

#include "answer/about.h"
#include "questions/leaks.h"
#include "answer/sum.h"
#include "sums/metric.h"

struct summary_peak {
	uint64_t bytes, count;
	uint64_t time_ns;
};

struct summary_function {
	const char *name;
	uint64_t calls, bytes, failed;
};

struct summary_latency {
	uint64_t calls;
	uint64_t total_ns, mean_ns, p50_ns, p99_ns, max_ns;
};

/* What was left out while it was recorded. */
struct summary_rotated {
	uint64_t from_ns, rotations;
	struct model_sum allocations, frees;
	uint64_t reallocs, failed, unknown_frees, lost_frees, records;
	struct summary_peak peak;
};

/* How the system was short of memory: the worst of it. */
struct summary_shortage {
	const char *name, *level, *answer;
	uint64_t time_ns;
};

/* What appears as addresses, where it is enough of the peak to be worth a line. */
struct summary_unnamed_module {
	const char *module, *reason, *build_id;
	uint64_t bytes;
};

struct summary_unnamed {
	uint64_t bytes;
	struct shape_share share;
	struct shape_rows modules; /* of struct summary_unnamed_module */
};

struct summary_process {
	uint64_t pid;
	const char *exe;
	struct shape_texts argv;
	int64_t exit_code, signal;
};

struct summary_answer {
	uint64_t duration_ns;
	struct model_sum allocations, frees;
	double rate_mean;
	struct summary_peak peak;
	struct model_sum leaked;
	bool goes_on; /* model_goes_on() */
	const struct suppressed_answer *suppressed;
	const struct loss_classes *leak_classes; /* NULL: no leak scan, or one without result */
	const struct scan_facts *leak_scan;	 /* NULL: none */
	struct model_sum temporary;
	uint64_t lost_events;
	/* What is known of the whole tape alone. */
	struct shape_rows functions; /* of struct summary_function */
	uint64_t reallocs, failed, unknown_frees, null_frees, usable_bytes;
	const struct summary_latency *latency;
	const struct summary_rotated *rotated; /* NULL: nothing was */
	uint64_t rss_max_bytes;
	const struct summary_shortage *shortage; /* NULL: none, or not known */
	const struct summary_unnamed *unnamed;	 /* NULL: little or nothing */
	uint64_t threads;
	struct summary_process process;
	struct quality quality;
	enum metric metric; /* not a member: from --sort, for text with functions */
};

/* Allocations per second of the selected time, with those that were rotated away; 0: not known. */
double summary_rate(const struct selection *selection);

#endif
