#include "system/process.h"

#include <string.h>

#include "system/lines.h"

#define INFO(name, field)                                                                          \
	{                                                                                          \
		name, offsetof(struct process_info, field)                                         \
	}

static bool is_dead(const char *status)
{
	const char *state = line_find(status, "State");

	return state && (*state == 'Z' || *state == 'X');
}

bool process_has_memory(const char *status)
{
	return !is_dead(status) && line_value(status, "VmRSS") != SYSTEM_UNKNOWN;
}

bool process_info_read(const char *status, struct arena *arena, struct process_info *info)
{
	static const struct line_row rows[] = {
		INFO("Uid", uid),
		INFO("Threads", threads),
		INFO("VmRSS", rss),
		INFO("RssAnon", rss_anonymous),
		INFO("RssFile", rss_file),
		INFO("RssShmem", rss_shared),
		INFO("VmHWM", rss_peak),
		INFO("VmSwap", swapped),
		INFO("VmSize", address_space),
		INFO("VmData", data),
		INFO("VmPTE", page_tables),
	};
	const char *name = line_find(status, "Name");

	*info = (struct process_info) { .is_dead = is_dead(status) };
	lines_read(status, rows, array_size(rows), info);
	if (!name)
		return true;
	info->name = line_rest(name, arena);
	return info->name != NULL;
}

/* Behind the parenthesis that closes the name, which may have any character in it. */
void process_counts_read(const char *stat, struct process_counts *counts)
{
	/* Numbers of the fields as proc(5) counts them; the name is the second. */
	enum { STATE = 3, MINOR = 10, MAJOR = 12, START = 22, RSS = 24 };
	uint64_t fields[RSS + 1];
	const char *at = stat ? strrchr(stat, ')') : NULL;

	for (size_t i = 0; i <= RSS; i++)
		fields[i] = SYSTEM_UNKNOWN;
	for (size_t i = STATE; at && i <= RSS; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
		fields[i] = line_number(at);
	}
	*counts = (struct process_counts) {
		.minor_faults = fields[MINOR],
		.major_faults = fields[MAJOR],
		.start_ticks = fields[START],
		.rss_pages = fields[RSS],
	};
}

uint64_t process_limit(const char *limits, const char *name)
{
	return line_number(line_find(limits, name)); /* the soft limit is the first column */
}

uint64_t process_pss(const char *smaps_rollup)
{
	return line_value(smaps_rollup, "Pss");
}

struct process_shares process_shares(const char *smaps_rollup)
{
	const uint64_t clean = line_value(smaps_rollup, "Private_Clean");
	const uint64_t dirty = line_value(smaps_rollup, "Private_Dirty");
	struct process_shares shares = { .rss = line_value(smaps_rollup, "Rss"),
					 .pss = line_value(smaps_rollup, "Pss"),
					 .private = SYSTEM_UNKNOWN };

	if (clean != SYSTEM_UNKNOWN && dirty != SYSTEM_UNKNOWN)
		shares.private = clean + dirty;
	return shares;
}

int64_t process_signed(const char *text)
{
	const bool is_negative = text && *text == '-';
	const uint64_t value = line_number(text ? text + is_negative : NULL);

	if (value > INT64_MAX)
		return INT64_MIN;
	return is_negative ? -(int64_t)value : (int64_t)value;
}

bool process_of_path(const char *path, uint64_t *pid_ret)
{
	static const char before[] = "/proc/";
	uint64_t pid;

	if (strncmp(path, before, strlen(before)) != 0)
		return false;
	path += strlen(before);
	pid = line_number(path);
	if (pid == 0 || pid > INT32_MAX ||
	    strcmp(path + strspn(path, "0123456789"), "/status") != 0)
		return false;
	*pid_ret = pid;
	return true;
}
