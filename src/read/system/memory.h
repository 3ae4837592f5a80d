/*
 * memory: the machine's memory, as /proc/meminfo, /proc/vmstat and /proc/pressure/memory say it.
 * Texts may be NULL (not read) and may be anything. What a text does not say is SYSTEM_UNKNOWN.
 */
#ifndef MEMTAPE_SYSTEM_MEMORY_H
#define MEMTAPE_SYSTEM_MEMORY_H

#include "system/looks.h"

/* All in bytes. */
struct memory_info {
	uint64_t total, free, available, buffers, cached, slab, reclaimable, shared;
	uint64_t active, inactive, dirty, anonymous, page_tables, kernel_stack, corrupted;
	uint64_t swap_total, swap_free, swap_cached;
	uint64_t committed, commit_limit;
};

void memory_info_read(const char *text, struct memory_info *info);

/* Counts since the machine was started. */
struct memory_counts {
	uint64_t paged_in_kib, paged_out_kib; /* from and to disks */
	uint64_t swapped_in, swapped_out;     /* pages */
	uint64_t faults, major_faults, freed;
	uint64_t scanned_kswapd, scanned_direct, stolen; /* pages, looking for some to free */
	uint64_t stalls;				 /* allocations that had to free pages */
	uint64_t oom_kills;
};

void memory_counts_read(const char *text, struct memory_counts *counts);

/* In hundredths of a percent of the time; and in microseconds. */
struct memory_pressure {
	uint64_t some_avg10, some_avg60, some_total_us;
	uint64_t full_avg10, full_avg60, full_total_us;
};

void memory_pressure_read(const char *text, struct memory_pressure *pressure);

#endif
