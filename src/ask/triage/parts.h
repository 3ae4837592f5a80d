/* parts: the steps of triage_make. Internal to triage. */
#ifndef MEMTAPE_TRIAGE_PARTS_H
#define MEMTAPE_TRIAGE_PARTS_H

#include "system/cgroup.h"
#include "system/memory.h"
#include "system/process.h"
#include "triage/triage.h"

struct making {
	const struct looks *looks;
	const struct look *first, *last;
	double seconds; /* between these; 0: there is one only */
	struct arena *arena;
	struct triage *triage;
	struct memory_info info; /* of the last look */
	struct cgroup_places places;
};

VEC_DEFINE(verdict_vec, struct triage_verdict);

/* --- values ----------------------------------------------------------------------------------- */

void making_memory(struct making *making);
struct err *making_cgroups(struct making *making);
struct err *making_processes(struct making *making);
struct err *making_subject(struct making *making); /* after the cgroups */
struct err *making_kills(struct making *making);
struct err *making_missing(struct making *making);
struct err *making_verdicts(struct making *making); /* after all of them */

/* --- arithmetic with what may not be known ---------------------------------------------------- */

uint64_t known_minus(uint64_t from, uint64_t what); /* not below 0 */
uint64_t known_plus(uint64_t a, uint64_t b);
static inline uint64_t known_or_0(uint64_t count)
{
	return count == SYSTEM_UNKNOWN ? 0 : count;
}

/* A second, of counts that only grow; NAN: not known, or they went down. */
double rate_of(const struct making *making, uint64_t first, uint64_t last);

/* What it may use before it is slowed down or something is killed; SHAPE_NONE is the largest number. */
static inline uint64_t triage_cgroup_bound(const struct triage_cgroup *cgroup)
{
	return u64_min(cgroup->limit, cgroup->high);
}

/* --- growth ----------------------------------------------------------------------------------- */

/* A straight line through the values of all looks that know it. */
struct trend {
	double slope; /* a second; NAN: fewer than two values */
	double fit;   /* 1: they are on the line; NAN: fewer than three */
	size_t count;
};

struct trend trend_of(const struct looks *looks,
		      uint64_t (*value)(const struct look *look, const void *context),
		      const void *context);

/* From used to limit at this rate. SHAPE_NONE: it does not grow, or not known, or never. */
uint64_t time_to(uint64_t used, uint64_t limit, double slope);

#endif
