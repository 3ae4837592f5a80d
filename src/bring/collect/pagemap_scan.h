/*
 * pagemap_scan: the PAGEMAP_SCAN call of Linux 6.7, which is not in the headers of older systems:
 * include/uapi/linux/fs.h, Documentation/admin-guide/mm/pagemap.rst.
 */
#ifndef MEMTAPE_COLLECT_PAGEMAP_SCAN_H
#define MEMTAPE_COLLECT_PAGEMAP_SCAN_H

#include <stdint.h>
#include <sys/ioctl.h>

struct pagemap_scan_region {
	uint64_t begin, end, categories;
};

struct pagemap_scan {
	uint64_t bytes, flags, begin, end, walk_end;
	uint64_t regions, region_count, pages_max;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

enum pagemap_scan_category {
	PAGEMAP_WRITTEN = 1 << 1, /* not write-protected by a userfaultfd */
	PAGEMAP_FILE = 1 << 2,
	PAGEMAP_PRESENT = 1 << 3,
	PAGEMAP_SWAPPED = 1 << 4,
	PAGEMAP_PFN_ZERO = 1 << 5 /* the zero page, which all pages only ever read share */
};

enum pagemap_scan_flag {
	PAGEMAP_PROTECT = 1 << 0, /* write-protects what it finds */
	PAGEMAP_CHECK = 1 << 1	  /* EPERM where that is not possible */
};

#define PAGEMAP_SCAN _IOWR('f', 16, struct pagemap_scan)

#endif
