/*
 * page_runs: entries of page tables (x86-64) as runs of pages that are alike.
 */
#ifndef MEMTAPE_BPF_PAGE_RUNS_H
#define MEMTAPE_BPF_PAGE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

enum page_entry_bit {
	PAGE_ENTRY_PRESENT = 1 << 0,
	PAGE_ENTRY_ACCESSED = 1 << 5,
	PAGE_ENTRY_HUGE = 1 << 7,   /* of a page of 2 MiB, not of a table */
	PAGE_ENTRY_HIDDEN = 1 << 8, /* and not present: the kernel wants to see who uses it */
};

/* Of a present entry. Linux has at most 46 bits of addresses with four levels; above may be flags. */
#define PAGE_ENTRY_FRAME UINT64_C(0x00003ffffffff000)

enum { PAGE_TABLE_ENTRIES = 512, PAGE_TABLE_SHIFT = 21, PAGE_SMALL_SHIFT = 12 };

/* Where the kernel's pages of zeros are, which all pages only ever read share; all ones: unknown. */
struct page_zeros {
	uint64_t small, huge;
};

/* 2 MiB of addresses. */
struct page_unit {
	uint64_t entry, entry_after; /* before and after the table was read */
	const uint64_t *table;	     /* if entry is one of a table */
};

/* Gets the pages that have memory behind them. */
struct page_visitor {
	void (*pages)(void *context, uint64_t begin, uint64_t end, bool is_accessed);
	void *context;
};

enum page_state { PAGE_ABSENT, PAGE_IDLE, PAGE_ACCESSED };

/* A range being visited: all zeros but these. */
struct page_runs {
	const struct page_visitor *visitor;
	struct page_zeros zeros;
	uint64_t begin, end; /* of the range */
	uint64_t from, at;   /* of the run that is open */
	enum page_state state;
};

/* Units in ascending order; what they have outside the range is left out. */
void page_runs_add(struct page_runs *runs, uint64_t address, const struct page_unit *unit);
void page_runs_end(struct page_runs *runs);

#endif
