/*
 * verdict: what figures of a system say about its memory: how bad they are, and a sentence with them.
 * `memtape triage` says so of a machine now, and reports of the time in which a tape was recorded. The
 * limits are those of memtape-triage(1), "VERDICTS".
 *
 * What is not known is SYSTEM_UNKNOWN or NAN. Sentences are appended, without a full stop.
 */
#ifndef MEMTAPE_VERDICT_VERDICT_H
#define MEMTAPE_VERDICT_VERDICT_H

#include "base/str.h"

enum verdict_level {
	VERDICT_OK,
	VERDICT_UNKNOWN,
	VERDICT_WARNING,
	VERDICT_CRITICAL,
	VERDICT_LEVELS
};

extern const char *const verdict_level_words[]; /* with NULL at the end */

/* At least these are bad; a NAN is not. */
enum verdict_level verdict_level(double value, double warning, double critical);

/* Percent; NAN: not known, or whole is 0. */
double verdict_percent(uint64_t part, uint64_t whole);

/* "1.2 GiB of 24.0 GiB available (5.0 %)" */
enum verdict_level verdict_memory(struct str *words, uint64_t available, uint64_t total);

/* "1.0 GiB of 2.0 GiB used (50.0 %)"; none is no fault. */
enum verdict_level verdict_swap(struct str *words, uint64_t used, uint64_t total);

/* "90.0 MiB of 100.0 MiB (90.0 %) in /name": how near a cgroup is to its limit. */
enum verdict_level verdict_limit(struct str *words, uint64_t working_set, uint64_t limit,
				 const char *name);

/* A second; both are known. "no", or "12 KiB in and 5 KiB out a second". */
enum verdict_level verdict_swapping(struct str *words, double in_kib, double out_kib);

/* Percent of the last 10 s; some is known. */
enum verdict_level verdict_pressure(struct str *words, double some, double full);

/* How often a cgroup was at its limit since then. */
enum verdict_level verdict_limit_hits(uint64_t hits);

/* How many processes were killed for want of memory: at all, and now. */
enum verdict_level verdict_kills(uint64_t count, uint64_t now);

/* --- words ------------------------------------------------------------------------------------ */

void verdict_add_iec(struct str *words, uint64_t bytes); /* "?" where it is not known */
void verdict_add_percent(struct str *words, double percent);
void verdict_add_rate(struct str *words, double rate); /* not negative, not NAN */

#endif
