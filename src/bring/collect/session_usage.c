/*
 * What memory the processes of a session have, and how much of it they share with each other: a
 * page that several processes map counts in each one's RSS, but once in the sum of their PSS.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "collect/clock.h"
#include "collect/session_manifest.h"
#include "collect/session_members.h"
#include "system/lines.h"
#include "system/process.h"

enum {
	PERIOD_NS = 100 * 1000 * 1000,
	TIMES = 256,	  /* and then half as often */
	COST_FACTOR = 100 /* of the time, at most this part */
};

static void value_add(const char *line, const char *name, uint64_t *sum)
{
	const uint64_t value = line_value(line, name);

	*sum += value == SYSTEM_UNKNOWN ? 0 : value;
}

/* What smaps_rollup has the kernel's sums of. */
static bool mappings_sum(pid_t pid, struct process_shares *shares)
{
	char path[64];
	CLEAN(free) char *line = NULL;
	CLEAN(fclose)
	FILE *smaps = fopen(str_format(path, sizeof(path), "/proc/%d/smaps", (int)pid), "re");
	size_t room = 0;

	*shares = (struct process_shares) { .rss = 0 };
	while (smaps && getline(&line, &room, smaps) > 0) {
		value_add(line, "Rss", &shares->rss);
		value_add(line, "Pss", &shares->pss);
		value_add(line, "Private_Clean", &shares->private);
		value_add(line, "Private_Dirty", &shares->private);
	}
	return shares->rss > 0;
}

/* False: it has ended, or may not be asked. */
static bool shares_read(pid_t pid, struct process_shares *shares)
{
	char path[64], text[4096];
	ssize_t count;

	str_format(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT) /* before Linux 4.14 */
		return mappings_sum(pid, shares);
	count = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (count <= 0)
		return false;
	text[count] = '\0';
	*shares = process_shares(text);
	return true;
}

static bool usage_read(const struct session_process *process, struct session_manifest_usage *usage)
{
	struct process_shares shares;

	if (!shares_read(process->pid, &shares))
		return false;
	*usage = (struct session_manifest_usage) { process->name, shares.rss, shares.pss,
						   shares.private };
	return shares.rss != UINT64_MAX && shares.pss != UINT64_MAX && shares.private != UINT64_MAX;
}

static void all_measure(struct session_members *members, uint64_t now_ns)
{
	CLEAN(free)
	struct session_manifest_usage *usages = calloc(members->living.count, sizeof(*usages));
	size_t count = 0;

	for (size_t i = 0; usages && i < members->living.count; i++) {
		const struct session_process *process = &members->living.items[i];

		if (process->is_sure && !process->is_over)
			count += usage_read(process, &usages[count]);
	}
	if (count > 0)
		err_destroy(session_manifest_usages(members->manifest_fd, now_ns, usages, count));
}

void session_members_measure(struct session_members *members)
{
	const uint64_t now_ns = monotonic_ns(), begin_ns = clock_cpu_ns();

	if (members->living.count == 0 || now_ns < members->usage_due_ns)
		return;
	all_measure(members, now_ns);
	if (members->usage_period_ns == 0)
		members->usage_period_ns = PERIOD_NS / 2; /* looks are that far apart anyway */
	if (++members->usage_count >= TIMES) {
		members->usage_period_ns *= 2;
		members->usage_count = 0;
	}
	members->usage_due_ns = now_ns + u64_max(members->usage_period_ns,
						 (clock_cpu_ns() - begin_ns) * COST_FACTOR);
}
