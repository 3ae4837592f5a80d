#include "system/memory.h"

#include <string.h>

#include "system/lines.h"

#define INFO(name, field)                                                                          \
	{                                                                                          \
		name, offsetof(struct memory_info, field)                                          \
	}
#define COUNTS(name, field)                                                                        \
	{                                                                                          \
		name, offsetof(struct memory_counts, field)                                        \
	}

void memory_info_read(const char *text, struct memory_info *info)
{
	static const struct line_row rows[] = {
		INFO("MemTotal", total),
		INFO("MemFree", free),
		INFO("MemAvailable", available),
		INFO("Buffers", buffers),
		INFO("Cached", cached),
		INFO("Slab", slab),
		INFO("SReclaimable", reclaimable),
		INFO("Shmem", shared),
		INFO("Active", active),
		INFO("Inactive", inactive),
		INFO("Dirty", dirty),
		INFO("AnonPages", anonymous),
		INFO("PageTables", page_tables),
		INFO("KernelStack", kernel_stack),
		INFO("HardwareCorrupted", corrupted),
		INFO("SwapTotal", swap_total),
		INFO("SwapFree", swap_free),
		INFO("SwapCached", swap_cached),
		INFO("Committed_AS", committed),
		INFO("CommitLimit", commit_limit),
	};

	lines_read(text, rows, array_size(rows), info);
}

/* The sum of counts with these names, of those that there are. */
static uint64_t sum_of(const char *text, const char *const *names, size_t count)
{
	uint64_t sum = SYSTEM_UNKNOWN;

	for (size_t i = 0; i < count; i++) {
		const uint64_t value = line_value(text, names[i]);

		if (value == SYSTEM_UNKNOWN)
			continue;
		if (sum == SYSTEM_UNKNOWN)
			sum = value;
		else if (__builtin_add_overflow(sum, value, &sum))
			return SYSTEM_UNKNOWN;
	}
	return sum;
}

void memory_counts_read(const char *text, struct memory_counts *counts)
{
	static const struct line_row rows[] = {
		COUNTS("pgpgin", paged_in_kib),
		COUNTS("pgpgout", paged_out_kib),
		COUNTS("pswpin", swapped_in),
		COUNTS("pswpout", swapped_out),
		COUNTS("pgfault", faults),
		COUNTS("pgmajfault", major_faults),
		COUNTS("pgfree", freed),
		COUNTS("pgscan_kswapd", scanned_kswapd),
		COUNTS("pgscan_direct", scanned_direct),
		COUNTS("oom_kill", oom_kills),
	};
	static const char *const stolen[] = { "pgsteal_kswapd", "pgsteal_direct" };
	static const char *const stalls[] = { "allocstall", "allocstall_dma", "allocstall_dma32",
					      "allocstall_normal", "allocstall_movable" };

	lines_read(text, rows, array_size(rows), counts);
	counts->stolen = sum_of(text, stolen, array_size(stolen));
	counts->stalls = sum_of(text, stalls, array_size(stalls));
}

/* "avg10=1.25" in hundredths. */
static uint64_t hundredths(const char *line, const char *key)
{
	enum { HUNDRED = 100, TEN = 10 };
	const char *at = line ? strstr(line, key) : NULL;
	const char *end = line ? line + strcspn(line, "\n") : NULL;
	uint64_t value;

	if (!at || at >= end)
		return SYSTEM_UNKNOWN;
	at += strlen(key);
	value = line_number(at);
	if (value > UINT32_MAX)
		return SYSTEM_UNKNOWN;
	value *= HUNDRED;
	at += strspn(at, "0123456789");
	if (at[0] == '.' && at[1] >= '0' && at[1] <= '9') {
		value += (uint64_t)(at[1] - '0') * TEN;
		if (at[2] >= '0' && at[2] <= '9')
			value += (uint64_t)(at[2] - '0');
	}
	return value;
}

static uint64_t total_us(const char *line)
{
	static const char key[] = "total=";
	const char *at = line ? strstr(line, key) : NULL;

	return at && at < line + strcspn(line, "\n") ? line_number(at + strlen(key))
						     : SYSTEM_UNKNOWN;
}

void memory_pressure_read(const char *text, struct memory_pressure *pressure)
{
	const char *some = line_find(text, "some");
	const char *full = line_find(text, "full");

	*pressure = (struct memory_pressure) {
		.some_avg10 = hundredths(some, "avg10="),
		.some_avg60 = hundredths(some, "avg60="),
		.some_total_us = total_us(some),
		.full_avg10 = hundredths(full, "avg10="),
		.full_avg60 = hundredths(full, "avg60="),
		.full_total_us = total_us(full),
	};
}
