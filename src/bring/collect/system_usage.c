#include "collect/system_usage.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "collect/clock.h"
#include "core/hash.h"
#include "system/memory.h"

enum { COST_FACTOR = 400 /* a quarter of a percent */ };

void system_usage_open(struct system_usage *usage, pid_t pid)
{
	assert(pid > 0);
	*usage = (struct system_usage) { .watch = host_watch_open(pid), .cgroup = "" };
	memset(&usage->last, 0xff, sizeof(usage->last));
}

void system_usage_close(struct system_usage *usage)
{
	host_watch_close(usage->watch);
	usage->watch = NULL;
}

static uint64_t bytes_of_pages(uint64_t pages)
{
	uint64_t bytes;

	if (pages == SYSTEM_UNKNOWN ||
	    __builtin_mul_overflow(pages, (uint64_t)sysconf(_SC_PAGESIZE), &bytes))
		return SYSTEM_UNKNOWN;
	return bytes;
}

static void take_machine(const struct look *look, struct tape_system *sample)
{
	struct memory_pressure pressure;
	struct memory_counts counts;
	struct memory_info info;

	memory_info_read(look_text(look, "/proc/meminfo"), &info);
	memory_counts_read(look_text(look, "/proc/vmstat"), &counts);
	memory_pressure_read(look_text(look, "/proc/pressure/memory"), &pressure);
	sample->memory_bytes = info.total;
	sample->available_bytes = info.available;
	sample->swap_bytes = info.swap_total;
	sample->swap_free_bytes = info.swap_free;
	sample->swapped_in_bytes = bytes_of_pages(counts.swapped_in);
	sample->swapped_out_bytes = bytes_of_pages(counts.swapped_out);
	sample->major_faults = counts.major_faults;
	sample->oom_kills = counts.oom_kills;
	sample->some_avg10 = pressure.some_avg10;
	sample->full_avg10 = pressure.full_avg10;
	sample->some_us = pressure.some_total_us;
	sample->full_us = pressure.full_total_us;
}

static void take_cgroup(const struct look *look, const struct cgroup_places *places,
			struct tape_system *sample)
{
	struct cgroup_info info;

	if (places->count == 0)
		return;
	cgroup_info_read(look, places, 0, &info);
	sample->cgroup_bytes = info.usage;
	sample->cgroup_inactive_bytes = info.inactive_file;
	sample->cgroup_limit_bytes = info.limit;
	sample->cgroup_high_bytes = info.high;
	sample->cgroup_limit_hits = info.limit_hits;
	sample->cgroup_high_hits = info.high_hits;
	sample->cgroup_ooms = info.ooms;
	sample->cgroup_oom_kills = info.oom_kills;
	sample->cgroup_some_avg10 = info.pressure.some_avg10;
	sample->cgroup_full_avg10 = info.pressure.full_avg10;
	sample->cgroup_some_us = info.pressure.some_total_us;
	sample->cgroup_full_us = info.pressure.full_total_us;
}

static void take_place(struct system_usage *usage, const struct cgroup_places *places)
{
	uint64_t hash;

	usage->cgroup = places->count > 0 ? places->items[0].name : "";
	usage->version = places->count == 0 ? 0 : places->is_v1 ? 1 : 2;
	hash = hash_bytes(usage->cgroup, strlen(usage->cgroup), usage->version + 1) | 1;
	usage->has_moved = hash != usage->cgroup_hash;
	usage->cgroup_hash = hash;
}

bool system_usage_sample(struct system_usage *usage, uint64_t now_ns)
{
	const uint64_t begun_ns = clock_cpu_ns();
	struct tape_system sample;
	const struct look *look;
	bool differs;

	if (!usage->watch || now_ns < usage->next_ns)
		return false;
	memset(&sample, 0xff, sizeof(sample));
	look = host_watch_look(usage->watch);
	take_machine(look, &sample);
	take_cgroup(look, host_watch_places(usage->watch), &sample);
	take_place(usage, host_watch_places(usage->watch));
	differs = usage->has_moved || memcmp(&sample, &usage->last, sizeof(sample)) != 0;
	usage->last = sample;
	usage->next_ns = now_ns + (clock_cpu_ns() - begun_ns) * COST_FACTOR;
	return differs;
}

/* Unknown ones are as large as can be, and so is what has no limit. */
uint64_t system_usage_free(const struct system_usage *usage)
{
	const struct tape_system *last = &usage->last;
	const uint64_t used = last->cgroup_bytes == UINT64_MAX ? 0 : last->cgroup_bytes;
	const uint64_t limit = u64_min(last->cgroup_limit_bytes, last->cgroup_high_bytes);

	return u64_min(last->available_bytes, limit - u64_min(used, limit));
}
