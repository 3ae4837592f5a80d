/*
 * triage: how a system is off for memory, after the USE method: utilisation, saturation and errors of
 * each resource, a verdict for every question, and what to do next. An answer about looks
 * (system/looks.h); nothing is read here. Immutable, and lives in the arena that it was made in.
 *
 * What is not known is SHAPE_NONE, NAN or NULL, and its verdict is "unknown": never a zero.
 */
#ifndef MEMTAPE_TRIAGE_TRIAGE_H
#define MEMTAPE_TRIAGE_TRIAGE_H

#include "answer/shape.h"
#include "system/looks.h"
#include "verdict/verdict.h"

enum triage_use { TRIAGE_UTILISATION, TRIAGE_SATURATION, TRIAGE_ERRORS, TRIAGE_USES };

extern const char *const triage_use_words[]; /* with NULL at the end */

struct triage_verdict {
	enum triage_use use_index;
	enum verdict_level level_index;
	const char *use, *name, *question, *level;
	const char *answer; /* a sentence without a full stop */
	const char *source; /* what it is based on */
	const char *next;   /* a command; NULL: nothing need be done */
};

/* As free(1), and as sar -r; bytes. */
struct triage_memory {
	uint64_t total, used, free, shared, buffers, cached, reclaimable, buff_cache, available;
	uint64_t anonymous, slab, page_tables, kernel_stack, active, inactive, dirty, corrupted;
	uint64_t committed, commit_limit;
	double used_percent, available_percent, commit_percent;
	uint64_t overcommit; /* the mode: 0, 1 or 2 */
};

struct triage_swap {
	uint64_t total, used, free, cached;
	double used_percent;
};

/* A second, between the first look and the last; NAN: there was one only, or it is not known. */
struct triage_rates {
	double swap_in_kib, swap_out_kib;				 /* as vmstat's si and so */
	double paged_in_kib, paged_out_kib, faults, major_faults, freed; /* as sar -B */
	double scanned_kswapd, scanned_direct, stolen, efficiency;
	double stalls;
};

/* Percent of the time in which some, or all, waited for memory. */
struct triage_pressure {
	double some_avg10, some_avg60, full_avg10, full_avg60;
	double some_now, full_now; /* between the first look and the last */
};

struct triage_kill {
	uint64_t ago_ns, pid;
	const char *name, *cgroup;
	uint64_t address_space, anonymous, file, shared;
};

struct triage_process {
	uint64_t pid;
	const char *name;
	uint64_t rss, swapped;
	double rss_percent;
	double growth; /* bytes a second */
	int64_t oom_score, oom_score_adj;
};

struct triage_cgroup {
	const char *name;
	uint64_t pid; /* a process in it; SHAPE_NONE: not looked for */
	uint64_t usage, working_set, limit, high, peak, swap, swap_limit;
	uint64_t anonymous, file;
	uint64_t limit_hits, new_limit_hits, high_hits, new_high_hits, oom_kills, new_oom_kills;
	double used_percent; /* of the limit or of high, if that is lower, by the working set */
	double growth;	     /* of the working set, bytes a second */
	uint64_t time_to_limit_ns; /* at that rate */
	double some_avg10, full_avg10;
};

/* The process in question. */
struct triage_subject {
	uint64_t pid;
	const char *name;
	bool has_ended; /* between two looks: values are of the last that found it */
	uint64_t rss, anonymous, file, shared, peak, pss, swapped, address_space, data, page_tables;
	uint64_t threads;
	double rss_percent, minor_faults, major_faults; /* the faults: a second */
	double growth;					/* of resident memory, bytes a second */
	double growth_fit; /* how well a straight line fits: 1 exactly; NAN: two looks or fewer */
	uint64_t limit_address_space, limit_data;
	uint64_t time_to_limit_ns;
	const char *time_to_limit_of; /* which limit is reached first */
	const char *time_to_limit_by; /* how that was estimated */
	int64_t oom_score, oom_score_adj;
};

struct triage_missing {
	const char *path, *reason;
};

struct triage {
	const char *host;
	uint64_t time_ns; /* of the last look */
	uint64_t look_count, span_ns;
	uint64_t process_count;
	bool in_container;
	enum verdict_level level_index;
	const char *level; /* the worst of all */
	struct triage_memory memory;
	struct triage_swap swap;
	struct triage_rates rates;
	struct triage_pressure pressure;
	uint64_t oom_kills, new_oom_kills;
	struct triage_subject *subject; /* NULL: the system is what is asked about */
	struct shape_rows kills;	/* struct triage_kill, newest first */
	struct shape_rows processes;	/* struct triage_process, largest first */
	struct shape_rows cgroups; /* struct triage_cgroup, own ones innermost first; then others */
	struct shape_rows verdicts; /* struct triage_verdict */
	struct shape_rows missing;  /* struct triage_missing */
};

extern const struct shape shape_triage;

/* looks->count is not 0. */
struct err *triage_make(const struct looks *looks, struct arena *arena,
			const struct triage **triage_ret);

#endif
