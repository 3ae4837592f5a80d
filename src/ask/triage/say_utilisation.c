#include <math.h>

#include "triage/saying.h"

enum {
	COMMIT_WARNING = 90, /* percent of the limit in overcommit mode 2 */
	COMMIT_CRITICAL = 98,
	LIMIT_WARNING = 80, /* percent of a limit of a process */
	LIMIT_CRITICAL = 95,
	GROWTH_BYTES = 1 << 20,	 /* less is noise */
	GROWTH_FIT_PERCENT = 80, /* less is no line */
	TO_LIMIT_WARNING_H = 24,
	TO_LIMIT_CRITICAL_MIN = 10,
	PERCENT = 100
};

static const uint64_t minute_ns = UINT64_C(60) * 1000000000, hour_ns = UINT64_C(3600) * 1000000000;

enum verdict_level say_memory(struct saying *saying)
{
	const struct triage_memory *memory = &saying->triage->memory;
	const enum verdict_level level =
		verdict_memory(&saying->answer, memory->available, memory->total);

	if (level >= VERDICT_WARNING)
		say_next_triage(saying);
	return level;
}

enum verdict_level say_commit(struct saying *saying)
{
	const struct triage_memory *memory = &saying->triage->memory;
	const double of_limit = verdict_percent(memory->committed, memory->commit_limit);
	enum verdict_level level;

	if (isnan(memory->commit_percent))
		return say_unknown(saying, "not known");
	say_iec(saying, memory->committed);
	str_add(&saying->answer, " promised, ");
	say_percent(saying, memory->commit_percent);
	str_add(&saying->answer, " of memory and swap");
	if (memory->overcommit != 2 || isnan(of_limit))
		return VERDICT_OK; /* more may be promised than there is */
	str_add(&saying->answer, "; no more than ");
	say_iec(saying, memory->commit_limit);
	str_add(&saying->answer, " may be");
	level = verdict_level(of_limit, COMMIT_WARNING, COMMIT_CRITICAL);
	if (level != VERDICT_OK)
		say_next(saying, "trace mmap -p");
	return level;
}

enum verdict_level say_processes(struct saying *saying)
{
	const struct triage *triage = saying->triage;
	const struct triage_process *top = triage->processes.items;
	const struct look_file *first;

	if (triage->processes.count == 0)
		return say_unknown(saying, "no process can be seen");
	for (size_t i = 0; i < triage->processes.count && i < 3; i++) {
		str_printf(&saying->answer, "%s%s (%llu) ", i > 0 ? ", " : "",
			   top[i].name ? top[i].name : "?", (unsigned long long)top[i].pid);
		say_iec(saying, top[i].rss);
	}
	first = look_file_find(saying->making->last, "/proc/1/status");
	if (first && !first->text)
		str_add(&saying->answer, "; others are hidden (hidepid)");
	return VERDICT_OK;
}

enum verdict_level say_swap(struct saying *saying)
{
	const struct triage_swap *swap = &saying->triage->swap;
	const enum verdict_level level = verdict_swap(&saying->answer, swap->used, swap->total);

	if (level >= VERDICT_WARNING)
		say_next_triage(saying);
	return level;
}

/* The one that is nearest to its limit; NULL: none has one. */
static const struct triage_cgroup *tightest(const struct triage *triage)
{
	const struct triage_cgroup *items = triage->cgroups.items, *found = NULL;

	for (size_t i = 0; i < triage->cgroups.count; i++)
		if (!isnan(items[i].used_percent) &&
		    (!found || items[i].used_percent > found->used_percent))
			found = &items[i];
	return found;
}

enum verdict_level say_cgroup(struct saying *saying)
{
	const struct triage *triage = saying->triage;
	const struct triage_cgroup *cgroup = tightest(triage);
	const struct triage_cgroup *own = triage->cgroups.items;
	enum verdict_level level;

	if (!cgroup && !say_is_counted(saying))
		return say_unknown(saying, "not known");
	if (!cgroup) {
		str_printf(&saying->answer, "%s has no limit", own->name);
		if (triage->in_container)
			str_add(&saying->answer, " that can be seen from inside");
		return VERDICT_OK;
	}
	level = verdict_limit(&saying->answer, cgroup->working_set, triage_cgroup_bound(cgroup),
			      cgroup->name);
	if (level != VERDICT_OK)
		say_next_in_cgroup(saying, cgroup);
	return level;
}

enum verdict_level say_process(struct saying *saying)
{
	const struct triage_subject *subject = saying->triage->subject;

	if (subject->has_ended)
		str_add(&saying->answer, "it has ended; before, ");
	if (subject->rss == SHAPE_NONE)
		return say_unknown(saying, "not known");
	say_iec(saying, subject->rss);
	str_add(&saying->answer, " resident: ");
	say_iec(saying, subject->anonymous);
	str_add(&saying->answer, " its own, ");
	say_iec(saying, subject->file);
	str_add(&saying->answer, " of files");
	if (subject->shared != SHAPE_NONE && subject->shared > 0) {
		str_add(&saying->answer, ", ");
		say_iec(saying, subject->shared);
		str_add(&saying->answer, " shared");
	}
	if (subject->swapped != SHAPE_NONE && subject->swapped > 0) {
		str_add(&saying->answer, "; ");
		say_iec(saying, subject->swapped);
		str_add(&saying->answer, " swapped out");
	}
	return VERDICT_OK;
}

static bool is_growth(const struct saying *saying)
{
	const struct triage_subject *subject = saying->triage->subject;

	return subject->growth * saying->making->seconds >= GROWTH_BYTES &&
	       !(subject->growth_fit * PERCENT < GROWTH_FIT_PERCENT);
}

enum verdict_level say_growth(struct saying *saying)
{
	const struct triage_subject *subject = saying->triage->subject;
	const uint64_t left_ns = subject->time_to_limit_ns;
	enum verdict_level level;

	if (isnan(subject->growth))
		return say_needs_looks(saying);
	if (!is_growth(saying)) {
		str_add(&saying->answer, "it does not grow, or not steadily");
		return VERDICT_OK;
	}
	str_add(&saying->answer, "it grows by ");
	say_iec(saying, (uint64_t)subject->growth);
	str_add(&saying->answer, " a second");
	level = left_ns <= TO_LIMIT_CRITICAL_MIN * minute_ns ? VERDICT_CRITICAL
		: left_ns <= TO_LIMIT_WARNING_H * hour_ns    ? VERDICT_WARNING
							     : VERDICT_OK;
	if (level == VERDICT_CRITICAL && isnan(subject->growth_fit))
		level = VERDICT_WARNING; /* two points are always on a line */
	if (left_ns != SHAPE_NONE) {
		str_printf(&saying->answer, "; the %s is reached in ", subject->time_to_limit_of);
		str_add_duration(&saying->answer, left_ns);
		str_printf(&saying->answer, " (%s)", subject->time_to_limit_by);
	}
	if (level != VERDICT_OK)
		say_next(saying, "leaks");
	return level;
}

enum verdict_level say_process_limits(struct saying *saying)
{
	const struct triage_subject *subject = saying->triage->subject;
	const double space = verdict_percent(subject->address_space, subject->limit_address_space);
	const double data = verdict_percent(subject->data, subject->limit_data);
	const bool is_data = isnan(space) || data > space;
	const double most = is_data ? data : space;
	enum verdict_level level;

	if (isnan(most)) {
		str_add(&saying->answer, "RLIMIT_AS and RLIMIT_DATA are not set");
		return VERDICT_OK;
	}
	say_iec(saying, is_data ? subject->data : subject->address_space);
	str_add(&saying->answer, " of ");
	say_iec(saying, is_data ? subject->limit_data : subject->limit_address_space);
	str_printf(&saying->answer, ", which %s allows (", is_data ? "RLIMIT_DATA" : "RLIMIT_AS");
	say_percent(saying, most);
	str_add(&saying->answer, ")");
	level = verdict_level(most, LIMIT_WARNING, LIMIT_CRITICAL);
	if (level != VERDICT_OK)
		say_next(saying, "trace mmap -p");
	return level;
}
