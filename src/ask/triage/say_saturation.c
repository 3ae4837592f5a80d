#include <math.h>

#include "triage/saying.h"

enum {
	THRASHING_KIB = 1024, /* a second, both in and out */
	MAJOR_FAULTS = 100,   /* a second */
	EFFICIENCY_LOW = 30,  /* percent of scanned pages */
	PRESSURE_SOME = 10,   /* percent of the last 10 s */
	PRESSURE_FULL = 5,
	PERCENT = 100
};

enum triage_level say_swapping(struct saying *saying)
{
	const struct triage_rates *rates = &saying->triage->rates;
	const double in = rates->swap_in_kib, out = rates->swap_out_kib;

	if (isnan(in) || isnan(out))
		return say_needs_looks(saying);
	if (in + out <= 0) {
		str_add(&saying->answer, "no");
		return TRIAGE_OK;
	}
	say_rate(saying, in);
	str_add(&saying->answer, " KiB in and ");
	say_rate(saying, out);
	str_add(&saying->answer, " KiB out a second");
	say_next(saying, "trace faults -p");
	if (in < THRASHING_KIB || out < THRASHING_KIB)
		return TRIAGE_WARNING;
	str_add(&saying->answer, ": what is swapped out is needed again");
	return TRIAGE_CRITICAL;
}

enum triage_level say_paging(struct saying *saying)
{
	const struct triage_rates *rates = &saying->triage->rates;
	enum triage_level level = TRIAGE_OK;

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
		level = TRIAGE_WARNING;
	if (rates->major_faults >= MAJOR_FAULTS && rates->efficiency < EFFICIENCY_LOW)
		level = TRIAGE_CRITICAL;
	if (level != TRIAGE_OK)
		say_next(saying, "trace faults -p");
	return level;
}

/* "In 1.0 % of the last 10 s ...": how bad it is; some is known. */
static enum triage_level add_pressure(struct saying *saying, double some, double full)
{
	say_percent(saying, some);
	str_add(&saying->answer, " of the last 10 s something waited for memory");
	if (!isnan(full)) {
		str_add(&saying->answer, ", ");
		say_percent(saying, full);
		str_add(&saying->answer, " everything did");
	}
	return full >= PRESSURE_FULL   ? TRIAGE_CRITICAL
	       : some >= PRESSURE_SOME ? TRIAGE_WARNING
				       : TRIAGE_OK;
}

enum triage_level say_pressure(struct saying *saying)
{
	const struct triage_pressure *pressure = &saying->triage->pressure;
	enum triage_level level;

	if (isnan(pressure->some_avg10))
		return say_unknown(saying,
				   "not known: this kernel does not measure it (psi=1 does)");
	level = add_pressure(saying, pressure->some_avg10, pressure->full_avg10);
	if (level != TRIAGE_OK)
		say_next_triage(saying);
	return level;
}

/* Of the innermost one, which waits for the limits above it, too. */
enum triage_level say_waiting(struct saying *saying)
{
	const struct triage_cgroup *own = saying->triage->cgroups.items;
	const enum triage_level level = add_pressure(saying, own->some_avg10, own->full_avg10);

	str_printf(&saying->answer, ", in %s", own->name);
	if (level != TRIAGE_OK)
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

enum triage_level say_limit_hits(struct saying *saying)
{
	const struct triage_cgroup *items = saying->triage->cgroups.items, *worst = NULL;
	uint64_t new_hits;

	for (size_t i = 0; i < saying->triage->cgroups.count; i++)
		if (triage_cgroup_bound(&items[i]) != SHAPE_NONE &&
		    (!worst || is_hit_more(&items[i], worst)))
			worst = &items[i];
	if (!worst && !say_is_counted(saying))
		return say_unknown(saying, "not known");
	if (!worst || hits_of(worst) == 0) {
		str_add(&saying->answer, worst ? "never" : "no cgroup has a limit");
		return TRIAGE_OK;
	}
	str_add_grouped(&saying->answer, hits_of(worst));
	str_printf(&saying->answer, " times since %s was made", worst->name);
	new_hits = new_hits_of(worst);
	if (new_hits == 0)
		return TRIAGE_OK; /* it was so once: utilisation says how it is now */
	str_add(&saying->answer, ", ");
	str_add_grouped(&saying->answer, new_hits);
	str_add(&saying->answer, " of them now");
	say_next_in_cgroup(saying, worst);
	return TRIAGE_WARNING;
}

enum triage_level say_process_paging(struct saying *saying)
{
	const struct triage_subject *subject = saying->triage->subject;
	enum triage_level level;

	if (isnan(subject->major_faults) || isnan(subject->minor_faults))
		return say_needs_looks(saying);
	say_rate(saying, subject->minor_faults);
	str_add(&saying->answer, " page faults a second from memory, ");
	say_rate(saying, subject->major_faults);
	str_add(&saying->answer, " from disk");
	level = subject->major_faults >= MAJOR_FAULTS ? TRIAGE_WARNING : TRIAGE_OK;
	if (level != TRIAGE_OK)
		say_next(saying, "trace faults -p");
	return level;
}
