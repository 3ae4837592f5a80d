/*
 * top_pace: how often memtape top may do what takes time, by what it took the last time. Values of the thread
 * that follows the tape; all times of processors in ns, all moments by CLOCK_MONOTONIC.
 */
#ifndef MEMTAPE_CLI_TOP_PACE_H
#define MEMTAPE_CLI_TOP_PACE_H

#include "http/tapes.h"

struct top_pace {
	uint64_t interval_ns, cost_percent; /* of the settings */
	bool is_seldom;			/* the whole tape is needed for findings and filters only */
	uint64_t reading;		/* the last one that was seen; 0: none */
	uint64_t cpu_ns;		/* of this process, when that was; 0: there was none */
	uint64_t idle_cpu_ns;		/* when nothing was being read */
	uint64_t whole_ns, findings_ns; /* what they took */
	uint64_t findings_due_ns;
	uint64_t begin_ns; /* what it took to begin to follow; */
	uint64_t begun_ns; /* when that was */
	bool has_begun;
	uint64_t follow_due_ns;
	uint64_t late_ns;
};

struct top_pace top_pace_begin(uint64_t interval_ns, uint64_t cost_percent, bool is_seldom);

uint64_t top_pace_cpu_ns(void);	   /* used by all threads of this process */
uint64_t top_pace_thread_ns(void); /* by this one */

/* What is known of the whole tape was looked at. is_seldom: from now on. */
void top_pace_look(struct top_pace *pace, const struct tape_look *now, bool is_seldom);

/* How old a reading of the whole tape has to be to be made again. */
uint64_t top_pace_period_ns(const struct top_pace *pace);

/* Findings were looked for. */
void top_pace_findings(struct top_pace *pace, uint64_t cost_ns);
bool top_pace_findings_are_due(const struct top_pace *pace);

/* What was appended was read, or that has failed: then the tape has to be followed from its beginning. */
void top_pace_followed(struct top_pace *pace, uint64_t cost_ns, bool has_failed);
void top_pace_late(struct top_pace *pace); /* because an event came late: they may come later */
bool top_pace_follow_is_due(const struct top_pace *pace);

#endif
