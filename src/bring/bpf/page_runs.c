#include "bpf/page_runs.h"

#include <assert.h>

#include "core/core.h"

/* A part of the range, in which all pages are alike. */
static void add(struct page_runs *runs, uint64_t begin, uint64_t end, enum page_state state)
{
	begin = u64_max(begin, runs->begin);
	end = u64_min(end, runs->end);
	if (begin >= end)
		return;
	assert(begin >= runs->at);
	if (begin != runs->at || state != runs->state) {
		page_runs_end(runs);
		runs->from = begin;
		runs->state = state;
	}
	runs->at = end;
}

void page_runs_end(struct page_runs *runs)
{
	if (runs->from < runs->at && runs->state != PAGE_ABSENT)
		runs->visitor->pages(runs->visitor->context, runs->from, runs->at,
				     runs->state == PAGE_ACCESSED);
	runs->from = runs->at;
}

/* What is swapped out, or being moved, has memory, and nobody has used it since. */
static enum page_state state_of(uint64_t entry, uint64_t zeros)
{
	if (entry == 0)
		return PAGE_ABSENT;
	if (!(entry & (PAGE_ENTRY_PRESENT | PAGE_ENTRY_HIDDEN)))
		return PAGE_IDLE;
	if (entry & PAGE_ENTRY_PRESENT && (entry & PAGE_ENTRY_FRAME) == zeros)
		return PAGE_ABSENT;
	return entry & PAGE_ENTRY_ACCESSED ? PAGE_ACCESSED : PAGE_IDLE;
}

static bool is_table(uint64_t entry)
{
	return entry & PAGE_ENTRY_PRESENT && !(entry & PAGE_ENTRY_HUGE);
}

/* The processor sets bits of entries of tables, too. */
static bool is_same_table(uint64_t entry, uint64_t after)
{
	return is_table(after) && (entry & PAGE_ENTRY_FRAME) == (after & PAGE_ENTRY_FRAME);
}

void page_runs_add(struct page_runs *runs, uint64_t address, const struct page_unit *unit)
{
	const uint64_t end = address + (UINT64_C(1) << PAGE_TABLE_SHIFT);

	if (!is_table(unit->entry)) {
		add(runs, address, end, state_of(unit->entry, runs->zeros.huge));
	} else if (!is_same_table(unit->entry, unit->entry_after)) {
		add(runs, address, end, PAGE_ACCESSED);
	} else {
		for (uint64_t i = 0; i < PAGE_TABLE_ENTRIES; i++)
			add(runs, address + (i << PAGE_SMALL_SHIFT),
			    address + ((i + 1) << PAGE_SMALL_SHIFT),
			    state_of(unit->table[i], runs->zeros.small));
	}
}
