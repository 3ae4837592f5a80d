#include <math.h>

#include "triage/saying.h"

enum {
	MAJOR_FAULTS = 100,  /* a second */
	EFFICIENCY_LOW = 30, /* percent of scanned pages */
	PERCENT = 100
};

enum verdict_level say_swapping(struct saying *saying)
{
	const struct triage_rates *rates = &saying->triage->rates;
	const double in = rates->swap_in_kib, out = rates->swap_out_kib;
	enum verdict_level level;

	if (isnan(in) || isnan(out))
		return say_needs_looks(saying);
	level = verdict_swapping(&saying->answer, in, out);
	if (level != VERDICT_OK)
		say_next(saying, "trace faults -p");
	return level;
}

enum verdict_level say_paging(struct saying *saying)
{
	const struct triage_rates *rates = &saying->triage->rates;
	enum verdict_level level = VERDICT_OK;

	if (isnan(rates->faults) || isnan(rates->major_faults))
		return say_needs_looks(saying);
	say_rate(saying, rates->faults);
	str_add(&saying->answer, " page faults a second, ");
	say_rate(saying, rates->major_faults);
	str_add(&saying->answer, " of them from disk");
	if (rates->scanned_direct > 0) {
		str_add(&saying->answer, "; programs wait while ");
		say_rate(saying, rates->scanned_direct);
		str_add(&saying->answer, " pages a second are searched");
	}
	if (rates->efficiency < PERCENT) {
		str_add(&saying->answer, ", and ");
		say_percent(saying, rates->efficiency);
		str_add(&saying->answer, " of those searched can be freed");
	}
	if (rates->major_faults >= MAJOR_FAULTS || rates->scanned_direct > 0)
		level = VERDICT_WARNING;
	if (rates->major_faults >= MAJOR_FAULTS && rates->efficiency < EFFICIENCY_LOW)
		level = VERDICT_CRITICAL;
	if (level != VERDICT_OK)
		say_next(saying, "trace faults -p");
	return level;
}

enum verdict_level say_pressure(struct saying *saying)
{
	const struct triage_pressure *pressure = &saying->triage->pressure;
	enum verdict_level level;

	if (isnan(pressure->some_avg10))
		return say_unknown(saying,
				   "not known: this kernel does not measure it (psi=1 does)");
	level = verdict_pressure(&saying->answer, pressure->some_avg10, pressure->full_avg10);
	if (level != VERDICT_OK)
		say_next_triage(saying);
	return level;
}

/* Of the innermost one, which waits for the limits above it, too. */
enum verdict_level say_waiting(struct saying *saying)
{
	const struct triage_cgroup *own = saying->triage->cgroups.items;
	const enum verdict_level level =
		verdict_pressure(&saying->answer, own->some_avg10, own->full_avg10);

	str_printf(&saying->answer, ", in %s", own->name);
	if (level != VERDICT_OK)
		say_next_in_cgroup(saying, own);
	return level;
}

/* What is not known counts as none. */
static uint64_t hits_of(const struct triage_cgroup *cgroup)
{
	return known_or_0(cgroup->limit_hits) + known_or_0(cgroup->high_hits);
}

static uint64_t new_hits_of(const struct triage_cgroup *cgroup)
{
	return known_or_0(cgroup->new_limit_hits) + known_or_0(cgroup->new_high_hits);
}

/* Who is at its limit now is worse than who was more often. */
static bool is_hit_more(const struct triage_cgroup *a, const struct triage_cgroup *b)
{
	const uint64_t a_new = new_hits_of(a), b_new = new_hits_of(b);

	return a_new != b_new ? a_new > b_new : hits_of(a) > hits_of(b);
}

enum verdict_level say_limit_hits(struct saying *saying)
{
	const struct triage_cgroup *items = saying->triage->cgroups.items, *worst = NULL;
	enum verdict_level level;
	uint64_t new_hits;

	for (size_t i = 0; i < saying->triage->cgroups.count; i++)
		if (triage_cgroup_bound(&items[i]) != SHAPE_NONE &&
		    (!worst || is_hit_more(&items[i], worst)))
			worst = &items[i];
	if (!worst && !say_is_counted(saying))
		return say_unknown(saying, "not known");
	if (!worst || hits_of(worst) == 0) {
		str_add(&saying->answer, worst ? "never" : "no cgroup has a limit");
		return VERDICT_OK;
	}
	str_add_grouped(&saying->answer, hits_of(worst));
	str_printf(&saying->answer, " times since %s was made", worst->name);
	new_hits = new_hits_of(worst);
	level = verdict_limit_hits(new_hits);
	if (level == VERDICT_OK)
		return level; /* it was so once: utilisation says how it is now */
	str_add(&saying->answer, ", ");
	str_add_grouped(&saying->answer, new_hits);
	str_add(&saying->answer, " of them now");
	say_next_in_cgroup(saying, worst);
	return level;
}

enum verdict_level say_process_paging(struct saying *saying)
{
	const struct triage_subject *subject = saying->triage->subject;
	enum verdict_level level;

	if (isnan(subject->major_faults) || isnan(subject->minor_faults))
		return say_needs_looks(saying);
	say_rate(saying, subject->minor_faults);
	str_add(&saying->answer, " page faults a second from memory, ");
	say_rate(saying, subject->major_faults);
	str_add(&saying->answer, " from disk");
	level = subject->major_faults >= MAJOR_FAULTS ? VERDICT_WARNING : VERDICT_OK;
	if (level != VERDICT_OK)
		say_next(saying, "trace faults -p");
	return level;
}
