/*
 * shortage: when a system was short of memory while a tape was recorded: for each question of
 * `memtape triage` that the samples on the tape answer, the worst verdict, and for how long it was bad.
 * Results live in the arena.
 */
#ifndef MEMTAPE_VERDICT_SHORTAGE_H
#define MEMTAPE_VERDICT_SHORTAGE_H

#include "base/arena.h"
#include "base/err.h"
#include "model/model.h"
#include "verdict/verdict.h"

enum shortage_kind {
	SHORTAGE_MEMORY,
	SHORTAGE_SWAP,
	SHORTAGE_CGROUP, /* how near its limit is */
	SHORTAGE_SWAPPING,
	SHORTAGE_PRESSURE,
	SHORTAGE_WAITING, /* the pressure of the cgroup */
	SHORTAGE_LIMIT_HITS,
	SHORTAGE_KILLS,
	SHORTAGE_CGROUP_KILLS,
	SHORTAGE_KINDS
};

struct shortage {
	const char *name;	  /* that of triage's verdict */
	enum verdict_level level; /* the worst of all samples */
	uint64_t ns;		  /* when it was first so; UINT64_MAX: it was never known */
	uint64_t short_ns;	  /* time in which it was a warning or critical */
	const char *words;	  /* with the figures of the worst sample; no full stop */
	/*
	 * Critical, or a warning for long enough to matter; processes of the machine that wait or are
	 * killed only where the machine, or this cgroup, has little memory: else it is others' limit.
	 */
	bool is_worth;
};

struct shortages {
	struct shortage items[SHORTAGE_KINDS];
	enum verdict_level
		level;	  /* the worst of those that are worth telling; else whether one is known */
	uint64_t span_ns; /* from the first sample to the last */
	size_t sample_count; /* 0: the tape has no samples; all are unknown */
};

struct err *shortages_find(const struct model *model, struct arena *arena,
			   struct shortages *shortages_ret);

/* The worst that is worth telling; NULL: none is. */
const struct shortage *shortages_worst(const struct shortages *shortages);

/* What was short of memory, where something is worth telling: "The system", "The program's cgroup". */
const char *shortages_subject(const struct shortages *shortages);

/* "2.0 GiB of 24.0 GiB available (8.3 %) (after 2.50 s); ...": what is worth telling, the worst first. */
void shortages_add_words(const struct shortages *shortages, struct str *words);

/* What a count of samples grew by; UINT64_MAX: not known, or it went down. */
uint64_t shortage_grown(uint64_t before, uint64_t after);

/* In which cgroup the process was, from one sample to the next; begins as zeros. */
struct shortage_place {
	size_t note_count; /* notes that have been looked at */
	size_t number;	   /* of the cgroup: 0 none is known */
	const char *name;  /* "": none is known; borrowed */
};

/* Goes on to a time: not back. */
void shortage_place_follow(struct shortage_place *place, const struct model *model, uint64_t ns);

/* The use of the cgroup without the cache that is freed first: what reaches the limit. */
uint64_t shortage_working_set(const struct tape_system *system);

#endif
