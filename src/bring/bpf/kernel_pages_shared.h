/*
 * kernel_pages_shared: what the program that reads page tables (kernel_pages.bpf.c) and memtape hand
 * each other. Private to the room; included by both.
 */
#ifndef MEMTAPE_BPF_KERNEL_PAGES_SHARED_H
#define MEMTAPE_BPF_KERNEL_PAGES_SHARED_H

#include <linux/types.h>

enum { PAGES_UNITS_MAX = 512 }; /* of 2 MiB: in one call */

/* Which tables, and where the kernel sees the memory that they are in. */
struct pages_request {
	__u64 fd;      /* ours, of /proc/PID/mem */
	__u64 address; /* a multiple of 2 MiB */
	__u64 units;
	__u64 base;   /* where the kernel sees physical address 0 */
	__u64 levels; /* 4 or 5 */
};

/* Of a unit: its entry before and after its table was copied. */
struct pages_entry {
	__u64 before, after;
};

struct pages_table {
	__u64 entries[512];
};

#endif
