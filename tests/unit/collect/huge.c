#include "../test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/huge.h"

enum { MIB_KIB = 1024, HUGE_KIB = 2048 };

struct seen {
	struct tape_huge_lost last;
	size_t count;
};

static void on_lost(void *context, const struct tape_huge_lost *lost)
{
	struct seen *seen = context;

	assert_true(lost->begin < lost->end);
	assert_true(lost->lost_bytes > 0);
	seen->last = *lost;
	seen->count++;
}

/* Of mappings of these MiB each: where it begins and ends, what is resident, and in huge pages. */
struct given {
	unsigned begin, end, rss, huge;
};

static void look(struct huge *huge, const struct given *given, size_t count, uint64_t split_count,
		 struct seen *seen)
{
	struct space_snapshot now = { 0 };

	huge->page_bytes = HUGE_KIB << 10;
	for (size_t i = 0; i < count; i++)
		assert_true(space_extents_push(
			&now.extents,
			(struct space_extent) { .begin = (uint64_t)given[i].begin << 20,
						.end = (uint64_t)given[i].end << 20,
						.rss_kib = (uint64_t)given[i].rss * MIB_KIB,
						.huge_kib = (uint64_t)given[i].huge * MIB_KIB }));
	*seen = (struct seen) { 0 };
	huge_look(huge, &now, split_count, on_lost, seen);
	space_extents_deinit(&now.extents);
}

static void what_is_lost_but_resident_was_split(void **state)
{
	/* before, after, MiB that were split */
	static const struct {
		const char *what;
		struct given before[3], after[3];
		unsigned mib;
	} rows[] = {
		{ "as it was", { { 10, 30, 20, 20 } }, { { 10, 30, 20, 20 } }, 0 },
		{ "split", { { 10, 30, 20, 20 } }, { { 10, 30, 20, 4 } }, 16 },
		{ "given back", { { 10, 30, 20, 20 } }, { { 10, 30, 4, 4 } }, 0 },
		{ "unmapped", { { 10, 30, 20, 20 } }, { { 50, 60, 1, 0 } }, 0 },
		{ "partly given back", { { 10, 30, 20, 20 } }, { { 10, 30, 12, 0 } }, 12 },
		{ "more are huge", { { 10, 30, 20, 4 } }, { { 10, 30, 20, 20 } }, 0 },
		{ "cut in two by mprotect",
		  { { 10, 30, 20, 20 } },
		  { { 10, 20, 10, 8 }, { 20, 30, 10, 10 } },
		  2 },
		{ "joined with a neighbour",
		  { { 10, 20, 10, 10 }, { 20, 30, 10, 10 } },
		  { { 10, 30, 20, 20 } },
		  0 },
		{ "joined, and then split",
		  { { 10, 20, 10, 10 }, { 20, 30, 10, 0 } },
		  { { 10, 30, 20, 2 } },
		  8 },
		{ "elsewhere as much is new", { { 10, 30, 20, 20 } }, { { 50, 70, 20, 0 } }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct huge huge = { 0 };
		struct seen seen;
		size_t before = 0, after = 0;

		while (before < 3 && rows[i].before[before].end)
			before++;
		while (after < 3 && rows[i].after[after].end)
			after++;
		look(&huge, rows[i].before, before, HUGE_UNKNOWN, &seen);
		assert_int_equal(seen.count, 0);
		look(&huge, rows[i].after, after, HUGE_UNKNOWN, &seen);
		if (seen.last.lost_bytes != (uint64_t)rows[i].mib << 20)
			fail_msg("%s: %u MiB", rows[i].what,
				 (unsigned)(seen.last.lost_bytes >> 20));
		assert_int_equal(seen.count, rows[i].mib > 0);
		huge_deinit(&huge);
	}
}

static void the_machine_has_split_as_many(void **state)
{
	const struct given before[] = { { 10, 30, 20, 20 } }, after[] = { { 10, 30, 20, 0 } };
	struct huge huge = { 0 };
	struct seen seen;

	(void)state;
	look(&huge, before, 1, 100, &seen);
	look(&huge, after, 1, 103, &seen);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.last.lost_bytes, 6 << 20);
	look(&huge, before, 1, 103, &seen);
	look(&huge, after, 1, 103, &seen);
	assert_int_equal(seen.count, 0);
	huge_deinit(&huge);
}

static void many_mappings_are_compared_one_by_one(void **state)
{
	enum { COUNT = 200 };
	struct given before[COUNT], after[COUNT];
	struct huge huge = { 0 };
	struct seen seen;

	(void)state;
	for (unsigned i = 0; i < COUNT; i++) {
		before[i] = (struct given) { 10 * i, 10 * i + 8, 8, 8 };
		after[i] = (struct given) { 10 * i, 10 * i + 8, 8, i % 4 == 0 ? 2 : 8 };
	}
	look(&huge, before, COUNT, HUGE_UNKNOWN, &seen);
	look(&huge, after, COUNT, HUGE_UNKNOWN, &seen);
	assert_int_equal(seen.count, COUNT / 4);
	assert_int_equal(seen.last.lost_bytes, 6 << 20);
	assert_int_equal(seen.last.before_bytes, 8 << 20);
	assert_int_equal(seen.last.after_bytes, 2 << 20);
	huge_deinit(&huge);
}

static void the_count_of_the_machine_is_a_line_of_vmstat(void **state)
{
	char path[] = "/tmp/memtape-unit-XXXXXX";
	const int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(huge_split_count(path), HUGE_UNKNOWN);
	assert_true(dprintf(fd, "thp_split_page 3\nthp_split_pmd 77\nthp_split_pud 4\n") > 0);
	assert_int_equal(huge_split_count(path), 77);
	close(fd);
	unlink(path);
	assert_int_equal(huge_split_count(path), HUGE_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_lost_but_resident_was_split),
		cmocka_unit_test(the_machine_has_split_as_many),
		cmocka_unit_test(many_mappings_are_compared_one_by_one),
		cmocka_unit_test(the_count_of_the_machine_is_a_line_of_vmstat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
