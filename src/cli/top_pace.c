#include "cli/top_pace.h"

#include <time.h>

#include "base/monotonic.h"

/*
 * Where a tape is followed, eight of ten parts of one percent are left to that, so at a cost of one percent
 * readings of the whole take two thousandths; following anew takes two thirds of the cost. Where it is not, everything together takes cost_percent of a processor, a third
 * of that for findings, unless figures would be older than AGE_NS then; reading alone never takes more
 * than a third (http/tapes.h).
 */
enum { PART_COUNT = 150, FINDINGS_PART_COUNT = 300, FOLLOWING_PER_MILLE = 8 };
static const uint64_t AGE_NS = UINT64_C(30000000000);
static const uint64_t FINDINGS_NS =
	UINT64_C(5000000000); /* between two times they are looked for */

/* A thread may be interrupted so long between reading its clock and writing its record. */
static const uint64_t LATE_NS = UINT64_C(100000000), LATE_MAX_NS = UINT64_C(5000000000);

static uint64_t clock_read(clockid_t clock)
{
	struct timespec time = { 0 };

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t top_pace_cpu_ns(void)
{
	return clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t top_pace_thread_ns(void)
{
	return clock_read(CLOCK_THREAD_CPUTIME_ID);
}

struct top_pace top_pace_begin(uint64_t interval_ns, uint64_t cost_percent, bool is_seldom)
{
	return (struct top_pace) {
		.interval_ns = interval_ns,
		.cost_percent = cost_percent,
		.is_seldom = is_seldom,
		.idle_cpu_ns = top_pace_cpu_ns(),
		.late_ns = LATE_NS,
	};
}

void top_pace_look(struct top_pace *pace, const struct tape_look *now, bool is_seldom)
{
	const uint64_t cpu_ns = top_pace_cpu_ns();

	pace->is_seldom = is_seldom;
	if (now->loaded && now->loaded->number != pace->reading) {
		pace->reading = now->loaded->number;
		pace->whole_ns =
			cpu_ns - (is_seldom || !pace->cpu_ns ? pace->idle_cpu_ns : pace->cpu_ns);
		pace->cpu_ns = cpu_ns;
	}
	if (!now->is_read)
		pace->idle_cpu_ns = cpu_ns;
}

/* A little less than the interval, so that each look finds another reading. */
uint64_t top_pace_period_ns(const struct top_pace *pace)
{
	const uint64_t least_ns = pace->interval_ns / 10 * 9;

	if (!pace->is_seldom)
		return u64_max(least_ns,
			       u64_min(PART_COUNT * pace->whole_ns / pace->cost_percent, AGE_NS));
	if (pace->reading == 0)
		return AGE_NS;
	return u64_max(least_ns, 1000 * (pace->whole_ns + pace->findings_ns) /
					 (10 * pace->cost_percent - FOLLOWING_PER_MILLE));
}

void top_pace_findings(struct top_pace *pace, uint64_t cost_ns)
{
	pace->cpu_ns += cost_ns; /* it is no part of what a reading costs */
	pace->findings_ns = cost_ns;
	pace->findings_due_ns =
		monotonic_ns() +
		u64_max(u64_min(FINDINGS_PART_COUNT * cost_ns / pace->cost_percent, AGE_NS),
			FINDINGS_NS);
}

bool top_pace_findings_are_due(const struct top_pace *pace)
{
	return monotonic_ns() >= pace->findings_due_ns;
}

void top_pace_followed(struct top_pace *pace, uint64_t cost_ns, bool has_failed)
{
	if (!pace->has_begun) {
		pace->begin_ns = cost_ns;
		pace->begun_ns = monotonic_ns();
	}
	pace->has_begun = !has_failed;
	if (has_failed)
		pace->follow_due_ns =
			pace->begun_ns + PART_COUNT * pace->begin_ns / pace->cost_percent;
}

void top_pace_late(struct top_pace *pace)
{
	pace->late_ns = u64_min(2 * pace->late_ns, LATE_MAX_NS);
}

bool top_pace_follow_is_due(const struct top_pace *pace)
{
	return monotonic_ns() >= pace->follow_due_ns;
}
