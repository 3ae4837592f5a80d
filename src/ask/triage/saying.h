/*
 * saying: the rules of verdicts. Each says in words what a number is, how bad it is, and what to do. The
 * limits are those of memtape-triage(1), "VERDICTS", and stand at the top of say_*.c. Internal to
 * triage.
 */
#ifndef MEMTAPE_TRIAGE_SAYING_H
#define MEMTAPE_TRIAGE_SAYING_H

#include "triage/parts.h"

/* An answer being written. */
struct saying {
	const struct making *making;
	const struct triage *triage;
	struct str answer, next; /* next stays empty where nothing need be done */
};

/* --- words ------------------------------------------------------------------------------------ */

void say_iec(struct saying *saying, uint64_t bytes); /* "?" where it is not known */
void say_percent(struct saying *saying, double percent);
void say_rate(struct saying *saying, double rate); /* not negative, not NAN */

/* They return VERDICT_UNKNOWN; the second for what takes two looks. */
enum verdict_level say_unknown(struct saying *saying, const char *why);
enum verdict_level say_needs_looks(struct saying *saying);

/* Whether anything is known of the cgroups; where only the top of all is, which has no files, all is. */
bool say_is_counted(const struct saying *saying);

/* The next command: "memtape BEFORE PID", of the process in question or the largest one. */
void say_next(struct saying *saying, const char *before);

/* Look at that process in detail; at one of the cgroup; record a program. */
void say_next_triage(struct saying *saying);
void say_next_in_cgroup(struct saying *saying, const struct triage_cgroup *cgroup);
void say_next_recorded(struct saying *saying);

/* --- rules: the answer, and its level --------------------------------------------------------- */

enum verdict_level say_memory(struct saying *saying);
enum verdict_level say_commit(struct saying *saying);
enum verdict_level say_processes(struct saying *saying);
enum verdict_level say_swap(struct saying *saying);
enum verdict_level say_cgroup(struct saying *saying);
enum verdict_level say_process(struct saying *saying);
enum verdict_level say_growth(struct saying *saying);
enum verdict_level say_process_limits(struct saying *saying);
enum verdict_level say_swapping(struct saying *saying);
enum verdict_level say_paging(struct saying *saying);
enum verdict_level say_pressure(struct saying *saying);
enum verdict_level say_waiting(struct saying *saying);
enum verdict_level say_limit_hits(struct saying *saying);
enum verdict_level say_process_paging(struct saying *saying);
enum verdict_level say_oom(struct saying *saying);
enum verdict_level say_cgroup_oom(struct saying *saying);
enum verdict_level say_hardware(struct saying *saying);

#endif
