#include "../test.h"

#include "space/mappings_image.h"

enum { PAGES = 7, PAGE = 4096 };

static void shares_of_ranges_side_by_side_add_up_to_the_whole(void **state)
{
	const struct mappings_extent extent = { .begin = 0x1000,
						.end = 0x1000 + PAGES * PAGE,
						.rss_bytes = 3 * PAGE };
	uint64_t sum = 0;

	(void)state;
	for (uint64_t at = extent.begin; at < extent.end; at += PAGE) {
		const uint64_t share = mappings_extent_resident(&extent, at, at + PAGE);

		assert_in_range(share, 3 * PAGE / PAGES, 3 * PAGE / PAGES + 1);
		sum += share;
	}
	assert_int_equal(sum, extent.rss_bytes);
}

static void what_lies_outside_has_no_share(void **state)
{
	const struct mappings_extent extent = { .begin = 0x1000,
						.end = 0x1000 + PAGES * PAGE,
						.rss_bytes = 3 * PAGE };

	(void)state;
	assert_int_equal(mappings_extent_resident(&extent, 0, extent.begin), 0);
	assert_int_equal(mappings_extent_resident(&extent, extent.end, extent.end + PAGE), 0);
	assert_int_equal(mappings_extent_resident(&extent, 0, UINT64_MAX), extent.rss_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_of_ranges_side_by_side_add_up_to_the_whole),
		cmocka_unit_test(what_lies_outside_has_no_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
