#include "../test.h"

#include "bpf/page_runs.h"
#include "core/core.h"

enum { UNITS = 3, ROUNDS = 400, PAGES = UNITS * PAGE_TABLE_ENTRIES };

static const uint64_t FIRST = UINT64_C(0x7f0000000000), PAGE = 1 << PAGE_SMALL_SHIFT;
static const struct page_zeros ZEROS = { .small = 0x5000, .huge = 0x600000 };

/* xorshift64 */
static uint64_t next_random(void)
{
	static uint64_t state = 88172645463325252U;

	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* Entries as the kernel writes them, and what each says. */
static const struct {
	uint64_t entry;
	enum page_state small, huge;
} kinds[] = {
	{ 0, PAGE_ABSENT, PAGE_ABSENT },
	{ 0x8000000012345067, PAGE_ACCESSED, PAGE_ACCESSED },
	{ 0x8000000012345047, PAGE_IDLE, PAGE_IDLE },
	{ 0x8000000000005225, PAGE_ABSENT, PAGE_ACCESSED }, /* the small page of zeros */
	{ 0x8000000000600225, PAGE_ACCESSED, PAGE_ABSENT }, /* the huge one */
	{ 0x1ffffffffd1ede00, PAGE_IDLE, PAGE_IDLE },	    /* swapped out */
	{ 0x8000000012345166, PAGE_ACCESSED, PAGE_ACCESSED },
	{ 0x8000000012345146, PAGE_IDLE, PAGE_IDLE },
	{ 0x8000400000005225, PAGE_ABSENT, PAGE_ACCESSED }, /* encrypted memory: a bit above */
};

/* Runs of random lengths, so that neighbours are often alike. */
static void table_make(uint64_t *table, enum page_state *pages)
{
	for (size_t i = 0; i < PAGE_TABLE_ENTRIES;) {
		const size_t kind = next_random() % array_size(kinds);
		const size_t end = u64_min(i + 1 + next_random() % 40, PAGE_TABLE_ENTRIES);

		for (; i < end; i++) {
			table[i] = kinds[kind].entry;
			pages[i] = kinds[kind].small;
		}
	}
}

static void all_are(enum page_state *pages, enum page_state state)
{
	for (size_t i = 0; i < PAGE_TABLE_ENTRIES; i++)
		pages[i] = state;
}

static void unit_make(struct page_unit *unit, uint64_t *table, enum page_state *pages)
{
	const size_t kind = next_random() % array_size(kinds);
	const uint64_t there = 0x12345000 | PAGE_ENTRY_PRESENT;

	table_make(table, pages);
	*unit = (struct page_unit) { there | PAGE_ENTRY_ACCESSED, there, table };
	switch (next_random() % 4) {
	case 0: /* the table was replaced while it was read, or has gone */
		unit->entry_after = next_random() % 2 ? there + PAGE : 0;
		all_are(pages, PAGE_ACCESSED);
		break;
	case 1:
		unit->entry = kinds[kind].entry;
		if (unit->entry & PAGE_ENTRY_PRESENT)
			unit->entry |= PAGE_ENTRY_HUGE;
		unit->entry_after = 0;
		all_are(pages, kinds[kind].huge);
		break;
	}
}

struct seen {
	enum page_state pages[PAGES];
	uint64_t end;
	enum page_state last;
};

static void see(void *context, uint64_t begin, uint64_t end, bool is_accessed)
{
	struct seen *seen = context;
	const enum page_state state = is_accessed ? PAGE_ACCESSED : PAGE_IDLE;

	assert_true(begin < end && begin >= seen->end);
	assert_false(begin == seen->end && state == seen->last); /* they are as long as can be */
	seen->end = end;
	seen->last = state;
	for (; begin < end; begin += PAGE)
		seen->pages[(begin - FIRST) / PAGE] = state;
}

/* Random tables, against one state a page. */
static void each_page_is_what_its_entry_says(void **context)
{
	(void)context;
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t tables[UNITS][PAGE_TABLE_ENTRIES];
		enum page_state pages[PAGES];
		struct seen seen = { .last = PAGE_ABSENT };
		const struct page_visitor visitor = { see, &seen };
		const size_t from = next_random() % PAGES,
			     to = from + next_random() % (PAGES - from);
		struct page_runs runs = { .visitor = &visitor,
					  .zeros = ZEROS,
					  .begin = FIRST + from * PAGE,
					  .end = FIRST + to * PAGE,
					  .from = FIRST + from * PAGE,
					  .at = FIRST + from * PAGE };

		for (size_t i = 0; i < UNITS; i++) {
			struct page_unit unit;

			unit_make(&unit, tables[i], pages + i * PAGE_TABLE_ENTRIES);
			page_runs_add(&runs, FIRST + (i << PAGE_TABLE_SHIFT), &unit);
		}
		page_runs_end(&runs);
		for (size_t i = 0; i < PAGES; i++)
			assert_int_equal(seen.pages[i],
					 i >= from && i < to ? pages[i] : PAGE_ABSENT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_page_is_what_its_entry_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
