#include "collect/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/str.h"
#include "collect/clock.h"

enum {
	ROLLUP_PERIOD_NS = 500 * 1000 * 1000,
	ROLLUP_COST_FACTOR = 400, /* a quarter of a percent */
	STAT_MINOR_FAULTS = 10,	  /* fields of /proc/PID/stat, proc(5) */
	STAT_MAJOR_FAULTS = 12,
	LINE_BYTES = 512
};

static const char CGROUP_ROOT[] = "/sys/fs/cgroup";

static int open_format(const char *fmt, ...) PRINTF_LIKE(1, 2);

static int open_format(const char *fmt, ...)
{
	char path[LINE_BYTES + sizeof(CGROUP_ROOT)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Bytes read into text, NUL-terminated; 0 when there is nothing. */
static size_t read_text(int fd, char *text, size_t bytes)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, text, bytes - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

/* cgroup v2: one hierarchy, "0::/path". v1 has memory.usage_in_bytes under its controller. */
static void open_cgroup(struct usage *usage, pid_t pid)
{
	char text[4096];
	CLEAN(close) int fd = open_format("/proc/%d/cgroup", (int)pid);
	char *save = NULL;

	read_text(fd, text, sizeof(text));
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path || strlen(path) > LINE_BYTES / 2)
			continue;
		path++;
		if (strncmp(line, "0::", 3) == 0 && usage->files[USAGE_CGROUP] < 0) {
			usage->files[USAGE_CGROUP] =
				open_format("%s%s/memory.current", CGROUP_ROOT, path);
			usage->files[USAGE_CGROUP_LIMIT] =
				open_format("%s%s/memory.max", CGROUP_ROOT, path);
		} else if (strncmp(controllers, ":memory:", 8) == 0) {
			usage->files[USAGE_CGROUP] =
				open_format("%s/memory%s/memory.usage_in_bytes", CGROUP_ROOT, path);
			usage->files[USAGE_CGROUP_LIMIT] =
				open_format("%s/memory%s/memory.limit_in_bytes", CGROUP_ROOT, path);
		}
	}
}

void usage_open(struct usage *usage, pid_t pid)
{
	*usage = (struct usage) { .pid = pid, .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE) };
	memset(&usage->last, 0xff, sizeof(usage->last));
	for (size_t i = 0; i < USAGE_FILE_COUNT; i++)
		usage->files[i] = -1;
	usage->files[USAGE_STATM] = open_format("/proc/%d/statm", (int)pid);
	usage->files[USAGE_STAT] = open_format("/proc/%d/stat", (int)pid);
	open_cgroup(usage, pid);
}

void usage_close(struct usage *usage)
{
	for (size_t i = 0; i < USAGE_FILE_COUNT; i++)
		if (usage->files[i] >= 0)
			close(usage->files[i]);
}

static void sample_statm(const struct usage *usage, struct tape_usage *sample)
{
	unsigned long long pages, resident, shared;
	char text[LINE_BYTES];

	if (!read_text(usage->files[USAGE_STATM], text, sizeof(text)) ||
	    sscanf(text, "%llu %llu %llu", &pages, &resident, &shared) != 3 || !pages)
		return; /* a process that has ended has no pages */
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
	at = strrchr(text, ')'); /* the name before it may hold anything */
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

static uint64_t rollup_number(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) << 10 : USAGE_UNKNOWN;
}

/*
 * Walks all page tables in the kernel: milliseconds for gigabytes. The file is bound to the address
 * space it was opened on, which an exec replaces, so it is opened each time.
 */
static void sample_rollup(struct usage *usage, struct tape_usage *sample, uint64_t now_ns)
{
	CLEAN(close) int fd = -1;
	char text[2048];
	uint64_t cost_ns;

	if (now_ns < usage->rollup_next_ns) {
		sample->pss_bytes = usage->last.pss_bytes;
		sample->swap_bytes = usage->last.swap_bytes;
		return;
	}
	fd = open_format("/proc/%d/smaps_rollup", (int)usage->pid);
	if (read_text(fd, text, sizeof(text))) {
		sample->pss_bytes = rollup_number(text, "\nPss:");
		sample->swap_bytes = rollup_number(text, "\nSwap:");
	}
	cost_ns = clock_monotonic_ns() - now_ns;
	usage->rollup_next_ns = now_ns + u64_max(ROLLUP_PERIOD_NS, cost_ns * ROLLUP_COST_FACTOR);
}

static uint64_t sample_number(int fd)
{
	char text[64];
	char *end;
	uint64_t value;

	if (!read_text(fd, text, sizeof(text)))
		return USAGE_UNKNOWN;
	value = strtoull(text, &end, 10);
	return end == text ? USAGE_UNKNOWN : value; /* "max": no limit */
}

bool usage_sample(struct usage *usage, uint64_t now_ns)
{
	struct tape_usage sample;
	bool differs;

	memset(&sample, 0xff, sizeof(sample));
	sample_statm(usage, &sample);
	sample_stat(usage, &sample);
	sample_rollup(usage, &sample, now_ns);
	sample.cgroup_bytes = sample_number(usage->files[USAGE_CGROUP]);
	sample.cgroup_limit_bytes = sample_number(usage->files[USAGE_CGROUP_LIMIT]);
	differs = memcmp(&sample, &usage->last, sizeof(sample)) != 0;
	usage->last = sample;
	return differs;
}
