#include "../test.h"

#include "symbol/perf_map.h"

static struct perf_map *parse(const char *text)
{
	struct perf_map *map = NULL;

	assert_null(perf_map_parse(text, strlen(text), &map));
	assert_non_null(map);
	return map;
}

static void code_is_found_by_any_of_its_addresses(void **state)
{
	struct perf_map *map = parse("1000 20 LazyCompile:~add file.js:3\n2000 10 b\n");

	(void)state;
	assert_string_equal(perf_map_find(map, 0x1000), "LazyCompile:~add file.js:3");
	assert_string_equal(perf_map_find(map, 0x101f), "LazyCompile:~add file.js:3");
	assert_null(perf_map_find(map, 0x1020));
	assert_null(perf_map_find(map, 0xfff));
	assert_string_equal(perf_map_find(map, 0x200f), "b");
	perf_map_close(map);
}

static void code_written_later_replaces_what_was_there(void **state)
{
	struct perf_map *map = parse("1000 20 old\n1000 20 new\n");

	(void)state;
	assert_string_equal(perf_map_find(map, 0x1008), "new");
	perf_map_close(map);
}

static void lines_that_are_none_are_skipped(void **state)
{
	struct perf_map *map = parse("\nfoo\n1000\n1000 20\n1000 20 \n-1 20 x\n0x10 20 y\n"
				     "123456789012345678901 1 huge\n3000 10 last");

	(void)state;
	assert_string_equal(perf_map_find(map, 0x3001), "last");
	assert_null(perf_map_find(map, 0x1000));
	assert_string_equal(perf_map_find(map, 0x10), "y");
	perf_map_close(map);
}

static void an_empty_map_finds_nothing(void **state)
{
	struct perf_map *map = parse("");

	(void)state;
	assert_null(perf_map_find(map, 0));
	perf_map_close(map);
}

static const struct file_trust any = { .bytes_max = 1 << 20 };

static void a_missing_file_is_an_error(void **state)
{
	struct perf_map *map = NULL;
	struct err *err = perf_map_open("/nonexistent/perf-1.map", &any, &map);

	(void)state;
	assert_non_null(err);
	assert_null(map);
	err_destroy(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_found_by_any_of_its_addresses),
		cmocka_unit_test(code_written_later_replaces_what_was_there),
		cmocka_unit_test(lines_that_are_none_are_skipped),
		cmocka_unit_test(an_empty_map_finds_nothing),
		cmocka_unit_test(a_missing_file_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
