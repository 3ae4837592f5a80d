#include <math.h>

#include "base/sort.h"
#include "triage/parts.h"

/* A process, for trend_of; texts of another one with its number do not count. */
struct tracked {
	uint64_t pid, start_ticks;
	struct arena *arena;
};

static const char *text_of(const struct look *look, uint64_t pid, const char *name)
{
	return look_text_of(look, "/proc/%llu/%s", (unsigned long long)pid, name);
}

static bool is_tracked(const struct look *look, const struct tracked *tracked)
{
	struct process_counts counts;

	process_counts_read(text_of(look, tracked->pid, "stat"), &counts);
	return counts.start_ticks == tracked->start_ticks;
}

static uint64_t rss_of(const struct look *look, const void *context)
{
	const struct tracked *tracked = context;
	struct process_info info;

	if (!is_tracked(look, tracked) ||
	    !process_info_read(text_of(look, tracked->pid, "status"), tracked->arena, &info))
		return SYSTEM_UNKNOWN;
	return info.rss;
}

static uint64_t address_space_of(const struct look *look, const void *context)
{
	const struct tracked *tracked = context;
	struct process_info info;

	if (!is_tracked(look, tracked) ||
	    !process_info_read(text_of(look, tracked->pid, "status"), tracked->arena, &info))
		return SYSTEM_UNKNOWN;
	return info.address_space;
}

static struct tracked tracked_of(const struct making *making, const struct look *look, uint64_t pid)
{
	struct process_counts counts;

	process_counts_read(text_of(look, pid, "stat"), &counts);
	return (struct tracked) { pid, counts.start_ticks, making->arena };
}

/* --- the largest ------------------------------------------------------------------------------ */

static struct err *process_fill(const struct making *making, uint64_t pid,
				struct triage_process *process)
{
	const struct look *look = making->last;
	const struct tracked tracked = tracked_of(making, look, pid);
	struct process_info info;

	if (!process_info_read(text_of(look, pid, "status"), making->arena, &info))
		return err_nomem();
	*process = (struct triage_process) {
		.pid = pid,
		.name = info.name,
		.rss = info.rss,
		.swapped = info.swapped,
		.rss_percent = verdict_percent(info.rss, making->info.total),
		.growth = trend_of(making->looks, rss_of, &tracked).slope,
		.oom_score_adj = process_signed(text_of(look, pid, "oom_score_adj")),
		.oom_score = process_signed(text_of(look, pid, "oom_score")),
	};
	return NULL;
}

/* Most first; what is not known last. */
static int compare_rss(const void *context, const void *a, const void *b)
{
	const struct triage_process *left = a, *right = b;

	(void)context;
	return sort_compare_u64(right->rss + 1, left->rss + 1);
}

struct err *making_processes(struct making *making)
{
	const struct look *look = making->last;
	struct triage_process *items = arena_array(making->arena, look->file_count, sizeof(*items));
	size_t count = 0;
	struct err *err = NULL;

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < look->file_count && !err; i++) {
		uint64_t pid;

		if (process_of_path(look->files[i].path, &pid) &&
		    process_has_memory(look->files[i].text)) /* else it is ending */
			err = process_fill(making, pid, &items[count++]);
	}
	if (!err && !sort_stable(items, count, sizeof(*items), compare_rss, NULL))
		err = err_nomem();
	making->triage->processes = (struct shape_rows) { items, count };
	return err;
}

/* --- the process in question ------------------------------------------------------------------ */

/* The last look in which it had memory, or, if it never had any, that found it. */
static const struct look *last_with(const struct looks *looks, uint64_t pid)
{
	const struct look *without = NULL;

	for (size_t i = looks->count; i-- > 0;) {
		const struct look *look = &looks->items[i];
		const char *status = text_of(look, pid, "status");

		if (process_has_memory(status))
			return look;
		if (status && !without)
			without = look;
	}
	return without;
}

static void faults_fill(const struct making *making, const struct look *look,
			const struct tracked *tracked, struct triage_subject *subject)
{
	struct process_counts a, b;

	subject->minor_faults = subject->major_faults = NAN;
	if (look != making->last || !is_tracked(making->first, tracked))
		return;
	process_counts_read(text_of(making->first, tracked->pid, "stat"), &a);
	process_counts_read(text_of(look, tracked->pid, "stat"), &b);
	subject->minor_faults = rate_of(making, a.minor_faults, b.minor_faults);
	subject->major_faults = rate_of(making, a.major_faults, b.major_faults);
}

static void sooner(struct triage_subject *subject, uint64_t ns, const char *what)
{
	if (ns == SHAPE_NONE || (subject->time_to_limit_of && ns >= subject->time_to_limit_ns))
		return;
	subject->time_to_limit_ns = ns;
	subject->time_to_limit_of = what;
}

/* Which limit it reaches first: its cgroups', its own, or the machine's. */
static struct err *time_to_limit(const struct making *making, const struct tracked *tracked,
				 struct triage_subject *subject)
{
	const struct triage *triage = making->triage;
	const struct triage_cgroup *cgroups = triage->cgroups.items;
	const struct trend trend = trend_of(making->looks, rss_of, tracked);
	const double address_space = trend_of(making->looks, address_space_of, tracked).slope;

	subject->growth = trend.slope;
	subject->growth_fit = trend.fit;
	subject->time_to_limit_ns = SHAPE_NONE;
	if (subject->has_ended)
		return NULL;
	for (size_t i = 0; i < triage->cgroups.count; i++) {
		const char *what =
			arena_printf(making->arena, "limit of the cgroup %s", cgroups[i].name);

		if (!what)
			return err_nomem();
		sooner(subject, cgroups[i].time_to_limit_ns, what);
	}
	sooner(subject,
	       time_to(subject->address_space, subject->limit_address_space, address_space),
	       "RLIMIT_AS");
	sooner(subject, time_to(0, making->info.available, subject->growth),
	       "end of available memory");
	if (!subject->time_to_limit_of)
		return NULL;
	subject->time_to_limit_by =
		arena_printf(making->arena, "a straight line through %zu looks", trend.count);
	return subject->time_to_limit_by ? NULL : err_nomem();
}

static void sizes_fill(const struct making *making, const struct look *look,
		       const struct process_info *info, struct triage_subject *subject)
{
	const uint64_t pid = making->looks->subject;
	const char *limits = text_of(look, pid, "limits");

	*subject = (struct triage_subject) {
		.pid = pid,
		.name = info->name,
		.has_ended = look != making->last || info->is_dead,
		.rss = info->rss,
		.anonymous = info->rss_anonymous,
		.file = info->rss_file,
		.shared = info->rss_shared,
		.peak = info->rss_peak,
		.pss = process_pss(text_of(look, pid, "smaps_rollup")),
		.swapped = info->swapped,
		.address_space = info->address_space,
		.data = info->data,
		.page_tables = info->page_tables,
		.threads = info->threads,
		.rss_percent = verdict_percent(info->rss, making->info.total),
		.limit_address_space = process_limit(limits, "Max address space"),
		.limit_data = process_limit(limits, "Max data size"),
		.oom_score = process_signed(text_of(look, pid, "oom_score")),
		.oom_score_adj = process_signed(text_of(look, pid, "oom_score_adj")),
	};
}

struct err *making_subject(struct making *making)
{
	const uint64_t pid = making->looks->subject;
	const struct look *look = pid ? last_with(making->looks, pid) : NULL;
	struct triage_subject *subject;
	struct process_info info;
	struct tracked tracked;

	if (!pid)
		return NULL;
	if (!look)
		return err_new(ERR_NOT_FOUND, "process %llu was not there",
			       (unsigned long long)pid);
	subject = arena_new(making->arena, struct triage_subject);
	if (!subject || !process_info_read(text_of(look, pid, "status"), making->arena, &info))
		return err_nomem();
	tracked = tracked_of(making, look, pid);
	sizes_fill(making, look, &info, subject);
	faults_fill(making, look, &tracked, subject);
	making->triage->subject = subject;
	return time_to_limit(making, &tracked, subject);
}
