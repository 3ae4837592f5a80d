#include "collect/usage.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "collect/clock.h"

enum {
	QUICK_PERIOD_NS = 50 * 1000 * 1000,
	QUICK_GRACE_NS = 8 * 1000 * 1000, /* so that a short run is sampled often enough */
	QUICK_URGENT_FACTOR = 50, /* each time RSS is an eighth higher: some fifty times at most */
	QUICK_GROWTH = 8,
	FULL_PERIOD_NS = 500 * 1000 * 1000,
	COST_FACTOR = 400,	/* a quarter of a percent, for each kind */
	STAT_MINOR_FAULTS = 10, /* fields of /proc/PID/stat, proc(5) */
	STAT_MAJOR_FAULTS = 12,
	LINE_BYTES = 512
};

static int open_format(const char *fmt, ...) PRINTF_LIKE(1, 2);

static int open_format(const char *fmt, ...)
{
	char path[LINE_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Reads into text, NUL-terminated; returns the bytes read, 0 if none. */
static size_t read_text(int fd, char *text, size_t bytes)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, text, bytes - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

void usage_open(struct usage *usage, pid_t pid)
{
	assert(pid > 0);
	*usage = (struct usage) { .pid = pid, .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE) };
	memset(&usage->last, 0xff, sizeof(usage->last));
	for (size_t i = 0; i < USAGE_FILE_COUNT; i++)
		usage->files[i] = -1;
	usage->files[USAGE_STATM] = open_format("/proc/%d/statm", (int)pid);
	usage->files[USAGE_STAT] = open_format("/proc/%d/stat", (int)pid);
}

void usage_close(struct usage *usage)
{
	for (size_t i = 0; i < USAGE_FILE_COUNT; i++)
		if (usage->files[i] >= 0)
			close(usage->files[i]);
	space_deinit(&usage->space);
}

static void sample_statm(const struct usage *usage, struct tape_usage *sample)
{
	unsigned long long pages, resident, shared;
	char text[LINE_BYTES];

	if (!read_text(usage->files[USAGE_STATM], text, sizeof(text)) ||
	    sscanf(text, "%llu %llu %llu", &pages, &resident, &shared) != 3 || !pages)
		return; /* an exited process has no pages */
	sample->virtual_bytes = pages * usage->page_bytes;
	sample->rss_bytes = resident * usage->page_bytes;
	sample->shared_bytes = shared * usage->page_bytes;
}

static void sample_stat(const struct usage *usage, struct tape_usage *sample)
{
	char text[2 * LINE_BYTES];
	const char *at;

	if (!read_text(usage->files[USAGE_STAT], text, sizeof(text)))
		return;
	at = strrchr(text, ')'); /* the name before it may contain anything */
	for (int field = 2; at && field < STAT_MINOR_FAULTS; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return;
	sample->minor_faults = strtoull(at + 1, NULL, 10);
	for (int field = STAT_MINOR_FAULTS; at && field < STAT_MAJOR_FAULTS; field++)
		at = strchr(at + 1, ' ');
	if (at)
		sample->major_faults = strtoull(at + 1, NULL, 10);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Costs are this thread's CPU time, so that waiting for a processor does not count. */
static bool quick_is_due(const struct usage *usage, const struct tape_usage *sample,
			 uint64_t now_ns)
{
	const uint64_t highest = usage->space_rss_bytes;

	return now_ns >= usage->quick_next_ns ||
	       (now_ns >= usage->quick_urgent_ns && sample->rss_bytes != USAGE_UNKNOWN &&
		sample->rss_bytes > highest + highest / QUICK_GROWTH);
}

static void charge_full(struct usage *usage, uint64_t cost_ns, uint64_t now_ns)
{
	usage->full_next_ns = now_ns + u64_max(FULL_PERIOD_NS, cost_ns * COST_FACTOR);
	usage->quick_next_ns = u64_max(usage->quick_next_ns, now_ns + QUICK_PERIOD_NS);
}

/* Stays below its share over the whole time, after the initial grace. */
static void charge_quick(struct usage *usage, uint64_t cost_ns, uint64_t now_ns)
{
	uint64_t over_ns;

	usage->quick_spent_ns += cost_ns;
	over_ns = u64_max(usage->quick_spent_ns, QUICK_GRACE_NS) - QUICK_GRACE_NS;
	usage->quick_next_ns =
		u64_max(now_ns + QUICK_PERIOD_NS, usage->begun_ns + over_ns * COST_FACTOR);
	usage->quick_urgent_ns = now_ns + cost_ns * QUICK_URGENT_FACTOR;
}

/*
 * Walks all page tables in the kernel: milliseconds for gigabytes. The files are bound to the
 * address space they were opened on, which an exec replaces, so they are reopened each time.
 */
static bool read_space(struct usage *usage, const struct tape_usage *sample, uint64_t now_ns,
		       enum space_depth *depth_ret)
{
	const uint64_t begun_ns = clock_cpu_ns();
	const bool is_full = now_ns >= usage->full_next_ns;
	bool ok;

	if (usage->begun_ns == 0)
		usage->begun_ns = now_ns;
	if (!is_full && (usage->space.cannot_scan || !quick_is_due(usage, sample, now_ns)))
		return false;
	*depth_ret = is_full ? SPACE_FULL : SPACE_QUICK;
	ok = space_read(&usage->space, usage->pid, *depth_ret);
	if (is_full)
		charge_full(usage, clock_cpu_ns() - begun_ns, now_ns);
	else
		charge_quick(usage, clock_cpu_ns() - begun_ns, now_ns);
	return ok;
}

/* The program ran on meanwhile: of the RSS before and after, keeps the closer one. */
static void sample_statm_again(struct usage *usage, struct tape_usage *sample)
{
	const uint64_t rss = space_rss_bytes(&usage->space);
	struct tape_usage after = *sample;

	usage->space_rss_bytes = u64_max(usage->space_rss_bytes, rss);
	sample_statm(usage, &after);
	if (distance(after.rss_bytes, rss) < distance(sample->rss_bytes, rss))
		*sample = after;
}

static void sample_space(struct usage *usage, struct tape_usage *sample, uint64_t now_ns)
{
	enum space_depth depth = SPACE_QUICK;

	sample->pss_bytes = usage->last.pss_bytes;
	sample->swap_bytes = usage->last.swap_bytes;
	usage->has_snapshot = read_space(usage, sample, now_ns, &depth);
	usage->is_full = usage->has_snapshot && depth == SPACE_FULL;
	if (usage->has_snapshot)
		sample_statm_again(usage, sample);
	if (depth == SPACE_QUICK)
		return;
	sample->pss_bytes = usage->has_snapshot ? space_pss_bytes(&usage->space) : USAGE_UNKNOWN;
	sample->swap_bytes = usage->has_snapshot ? space_swap_bytes(&usage->space) : USAGE_UNKNOWN;
}

bool usage_sample(struct usage *usage, uint64_t now_ns, const struct tape_system *system)
{
	struct tape_usage sample;
	bool differs;

	memset(&sample, 0xff, sizeof(sample));
	sample_statm(usage, &sample);
	sample_stat(usage, &sample);
	sample_space(usage, &sample, now_ns);
	sample.cgroup_bytes = system->cgroup_bytes;
	sample.cgroup_limit_bytes = system->cgroup_limit_bytes;
	differs = memcmp(&sample, &usage->last, sizeof(sample)) != 0;
	usage->last = sample;
	return differs;
}
