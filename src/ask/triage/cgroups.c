#include <math.h>

#include "triage/parts.h"

enum { HUNDREDTHS = 100 };

static double percent_of_hundredths(uint64_t value)
{
	return value == SYSTEM_UNKNOWN ? NAN : (double)value / HUNDREDTHS;
}

/* A level of the places, for trend_of. */
struct level {
	const struct cgroup_places *places;
	size_t index;
};

static uint64_t working_set(const struct look *look, const void *context)
{
	const struct level *level = context;
	struct cgroup_info info;

	cgroup_info_read(look, level->places, level->index, &info);
	return cgroup_working_set(&info);
}

/* What a count grew by; SHAPE_NONE: there was one look, or the cgroup was made anew. */
static uint64_t grown_by(const struct making *making, uint64_t first, uint64_t last)
{
	if (making->seconds <= 0 || last < first)
		return SHAPE_NONE;
	return known_minus(last, first);
}

static void cgroup_fill(const struct making *making, size_t index, struct triage_cgroup *cgroup)
{
	const struct level level = { &making->places, index };
	const struct trend trend = trend_of(making->looks, working_set, &level);
	struct cgroup_info a, b;

	cgroup_info_read(making->first, &making->places, index, &a);
	cgroup_info_read(making->last, &making->places, index, &b);
	*cgroup = (struct triage_cgroup) {
		.name = making->places.items[index].name,
		.usage = b.usage,
		.working_set = cgroup_working_set(&b),
		.limit = b.limit,
		.high = b.high,
		.peak = b.peak,
		.swap = b.swap,
		.swap_limit = b.swap_limit,
		.anonymous = b.anonymous,
		.file = b.file,
		.limit_hits = b.limit_hits,
		.new_limit_hits = grown_by(making, a.limit_hits, b.limit_hits),
		.high_hits = b.high_hits,
		.new_high_hits = grown_by(making, a.high_hits, b.high_hits),
		.oom_kills = b.oom_kills,
		.new_oom_kills = grown_by(making, a.oom_kills, b.oom_kills),
		.growth = trend.slope,
		.some_avg10 = percent_of_hundredths(b.pressure.some_avg10),
		.full_avg10 = percent_of_hundredths(b.pressure.full_avg10),
	};
	cgroup->used_percent = known_percent(cgroup->working_set, triage_cgroup_bound(cgroup));
	cgroup->time_to_limit_ns =
		time_to(cgroup->working_set, triage_cgroup_bound(cgroup), cgroup->growth);
}

/* The numbers of namespaces that the kernel begins with (include/linux/proc_ns.h). */
static bool is_inside(const struct look *look)
{
	const char *cgroup = look_text(look, "/proc/self/ns/cgroup");
	const char *pid = look_text(look, "/proc/self/ns/pid");

	return (cgroup && !strstr(cgroup, "[4026531835]")) || (pid && !strstr(pid, "[4026531836]"));
}

struct err *making_cgroups(struct making *making)
{
	const struct look *look = making->last;
	const char *mountinfo = look_text(look, "/proc/self/mountinfo");
	const char *cgroup = making->looks->subject
				     ? look_text_of(look, "/proc/%llu/cgroup",
						    (unsigned long long)making->looks->subject)
				     : look_text(look, "/proc/self/cgroup");
	struct triage_cgroup *items;
	struct err *err;

	mountinfo = mountinfo ? mountinfo : look_text(look, "/proc/1/mountinfo");
	err = cgroup_places_find(cgroup, mountinfo, making->arena, &making->places);
	if (err)
		return err;
	items = arena_array(making->arena, making->places.count, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < making->places.count; i++)
		cgroup_fill(making, i, &items[i]);
	making->triage->cgroups = (struct shape_rows) { items, making->places.count };
	making->triage->in_container = making->places.is_part || is_inside(look);
	return NULL;
}
