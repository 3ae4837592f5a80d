#include <math.h>
#include <string.h>

#include "system/lines.h"
#include "triage/parts.h"

enum { HUNDREDTHS = 100, LIMITED_MAX = 64 /* of a recording, which may have any number */ };

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

static void cgroup_fill(const struct making *making, const struct cgroup_places *places,
			size_t index, struct triage_cgroup *cgroup)
{
	const struct level level = { places, index };
	const struct trend trend = trend_of(making->looks, working_set, &level);
	struct cgroup_info a, b;

	cgroup_info_read(making->first, places, index, &a);
	cgroup_info_read(making->last, places, index, &b);
	*cgroup = (struct triage_cgroup) {
		.name = places->items[index].name,
		.pid = SHAPE_NONE,
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
	cgroup->used_percent = verdict_percent(cgroup->working_set, triage_cgroup_bound(cgroup));
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

/* Of a list of numbers, a line each: the one with the most memory, if that is known, or the first. */
static uint64_t largest_of(const struct look *look, const char *pids, struct arena *arena)
{
	const uint64_t first = pids ? line_number(pids) : SHAPE_NONE;
	uint64_t found = first, most = 0;

	for (const char *at = pids; at && *at; at = strchr(at, '\n')) {
		struct process_info info;
		uint64_t pid;

		at += *at == '\n';
		pid = line_number(at);
		if (pid != SHAPE_NONE &&
		    process_info_read(
			    look_text_of(look, "/proc/%llu/status", (unsigned long long)pid), arena,
			    &info) &&
		    info.rss != SYSTEM_UNKNOWN && info.rss > most) {
			found = pid;
			most = info.rss;
		}
	}
	return found;
}

/* Others of the machine: who has looked for them has read their processes, too. */
static struct err *limited_fill(const struct making *making, struct triage_cgroup *items,
				size_t *count)
{
	static const char procs[] = "/cgroup.procs";
	const struct look *look = making->last;
	const char *top = making->places.count > 0
				  ? making->places.items[making->places.count - 1].directory
				  : "";

	for (size_t i = 0, found = 0; i < look->file_count && found < LIMITED_MAX; i++) {
		const char *path = look->files[i].path;
		const size_t len = strlen(path);
		struct cgroup_places place = { .count = 1, .is_v1 = making->places.is_v1 };
		char *directory;

		if (len <= strlen(procs) || strcmp(path + len - strlen(procs), procs) != 0)
			continue;
		directory = arena_text(making->arena, path, len - strlen(procs));
		if (!directory)
			return err_nomem();
		place.items[0].directory = directory;
		place.items[0].name =
			strncmp(directory, top, strlen(top)) == 0 && directory[strlen(top)]
				? directory + strlen(top)
				: directory;
		cgroup_fill(making, &place, 0, &items[*count]);
		items[*count].pid = largest_of(look, look->files[i].text, making->arena);
		(*count)++;
		found++;
	}
	return NULL;
}

/* Of the process in question, or of this one, or of the first one of another root. Of one that is ending, the kernel says that it is at the top. */
static const char *cgroup_text(const struct looks *looks)
{
	const unsigned long long pid = looks->subject;
	const char *text = NULL;

	if (!pid) {
		text = look_text(&looks->items[looks->count - 1], "/proc/self/cgroup");
		return text ? text : look_text(&looks->items[looks->count - 1], "/proc/1/cgroup");
	}
	for (size_t i = looks->count; i-- > 0 && !text;) {
		const struct look *look = &looks->items[i];

		if (process_has_memory(look_text_of(look, "/proc/%llu/status", pid)))
			text = look_text_of(look, "/proc/%llu/cgroup", pid);
	}
	return text;
}

struct err *making_cgroups(struct making *making)
{
	const struct look *look = making->last;
	const char *mountinfo = look_text(look, "/proc/self/mountinfo");
	const char *cgroup = cgroup_text(making->looks);
	struct triage_cgroup *items;
	size_t count;
	struct err *err;

	mountinfo = mountinfo ? mountinfo : look_text(look, "/proc/1/mountinfo");
	err = cgroup_places_find(cgroup, mountinfo, making->arena, &making->places);
	if (err)
		return err;
	items = arena_array(making->arena, making->places.count + look->file_count, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < making->places.count; i++)
		cgroup_fill(making, &making->places, i, &items[i]);
	count = making->places.count;
	err = limited_fill(making, items, &count);
	making->triage->cgroups = (struct shape_rows) { items, count };
	making->triage->in_container = making->places.is_part || is_inside(look);
	return err;
}
