#include "../test.h"

#include "system/lines.h"
#include "system/memory.h"
#include "system/process.h"

static void a_line_is_found_by_its_whole_name(void **state)
{
	static const struct {
		const char *text, *name;
		uint64_t value;
	} rows[] = {
		{ "Cached: 5 kB\n", "Cached", 5 << 10 },
		{ "SwapCached: 5 kB\nCached: 6 kB\n", "Cached", 6 << 10 },
		{ "Cached2: 5 kB\n", "Cached", SYSTEM_UNKNOWN },
		{ "pgscan_direct_throttle 4\npgscan_direct 3\n", "pgscan_direct", 3 },
		{ "pgfault 12", "pgfault", 12 },
		{ "pgfault", "pgfault", SYSTEM_UNKNOWN },
		{ "pgfault \n", "pgfault", SYSTEM_UNKNOWN },
		{ "pgfault -3\n", "pgfault", SYSTEM_UNKNOWN },
		{ "pgfault 18446744073709551615\n", "pgfault", UINT64_MAX },
		{ "pgfault 18446744073709551616\n", "pgfault", SYSTEM_UNKNOWN },
		{ "Cached: 18446744073709551615 kB\n", "Cached", SYSTEM_UNKNOWN },
		{ "Cached: 9 MB\n", "Cached", 9 },
		{ NULL, "Cached", SYSTEM_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++)
		assert_true(line_value(rows[i].text, rows[i].name) == rows[i].value);
}

static void what_a_text_lacks_is_unknown_and_not_zero(void **state)
{
	struct memory_info info;
	struct memory_counts counts;
	struct memory_pressure pressure;

	(void)state;
	memory_info_read("MemTotal: 8 kB\nSwapTotal: 0 kB\n", &info);
	assert_int_equal(info.total, 8 << 10);
	assert_int_equal(info.swap_total, 0);
	assert_true(info.available == SYSTEM_UNKNOWN);
	memory_counts_read(NULL, &counts);
	assert_true(counts.oom_kills == SYSTEM_UNKNOWN);
	assert_true(counts.stolen == SYSTEM_UNKNOWN);
	memory_pressure_read(NULL, &pressure);
	assert_true(pressure.some_avg10 == SYSTEM_UNKNOWN);
}

static void counts_of_zones_are_summed_and_those_of_page_kinds_are_not(void **state)
{
	struct memory_counts counts;

	(void)state;
	memory_counts_read("pgsteal_kswapd 5\npgsteal_direct 3\npgsteal_anon 2\npgsteal_file 6\n"
			   "allocstall_dma 1\nallocstall_movable 20\npgscan_kswapd 9\n",
			   &counts);
	assert_int_equal(counts.stolen, 8);
	assert_int_equal(counts.stalls, 21);
	assert_int_equal(counts.scanned_kswapd, 9);
	assert_true(counts.scanned_direct == SYSTEM_UNKNOWN);
}

static void pressure_is_in_hundredths(void **state)
{
	struct memory_pressure pressure;

	(void)state;
	memory_pressure_read("some avg10=12.34 avg60=0.05 avg300=0.00 total=99\n"
			     "full avg10=100.00 avg60=7 avg300=1.00 total=88\n",
			     &pressure);
	assert_int_equal(pressure.some_avg10, 1234);
	assert_int_equal(pressure.some_avg60, 5);
	assert_int_equal(pressure.some_total_us, 99);
	assert_int_equal(pressure.full_avg10, 10000);
	assert_int_equal(pressure.full_avg60, 700);
	assert_int_equal(pressure.full_total_us, 88);
	/* A line that lacks a key does not borrow it of the next one. */
	memory_pressure_read("some avg60=1.00\nfull avg10=2.00 total=3\n", &pressure);
	assert_true(pressure.some_avg10 == SYSTEM_UNKNOWN);
	assert_true(pressure.some_total_us == SYSTEM_UNKNOWN);
}

static void a_name_with_parentheses_does_not_move_the_fields(void **state)
{
	struct process_counts counts;

	(void)state;
	process_counts_read("42 (a) 1 (b) S 1 42 42 0 -1 4194560 100 200 3 400 5 6 7 8 20 0 1 0 "
			    "777 4096000 55 18446744073709551615\n",
			    &counts);
	assert_int_equal(counts.minor_faults, 100);
	assert_int_equal(counts.major_faults, 3);
	assert_int_equal(counts.start_ticks, 777);
	assert_int_equal(counts.rss_pages, 55);
	process_counts_read("42 (short) S 1", &counts);
	assert_true(counts.rss_pages == SYSTEM_UNKNOWN);
}

static void a_process_is_read(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct process_info info;

	(void)state;
	assert_true(process_info_read("Name:\tsome name\nState:\tZ (zombie)\nUid:\t1000\t0\t0\t0\n"
				      "VmRSS:\t     12 kB\n",
				      &arena, &info));
	assert_string_equal(info.name, "some name");
	assert_true(info.is_dead);
	assert_int_equal(info.uid, 1000);
	assert_int_equal(info.rss, 12 << 10);
	assert_true(info.swapped == SYSTEM_UNKNOWN);
	assert_true(process_info_read("State:\tS (sleeping)\n", &arena, &info));
	assert_null(info.name);
	assert_false(info.is_dead);
}

static void unlimited_is_no_number(void **state)
{
	static const char limits[] =
		"Limit                     Soft Limit           Hard Limit           Units\n"
		"Max data size             unlimited            unlimited            bytes\n"
		"Max address space         1073741824           unlimited            bytes\n";

	(void)state;
	assert_true(process_limit(limits, "Max data size") == UINT64_MAX);
	assert_int_equal(process_limit(limits, "Max address space"), 1 << 30);
	assert_true(process_signed("-997\n") == -997);
	assert_true(process_signed("12") == 12);
	assert_true(process_signed("x") == INT64_MIN);
	assert_true(process_signed(NULL) == INT64_MIN);
}

static void a_path_is_a_process_or_not(void **state)
{
	uint64_t pid = 0;

	(void)state;
	assert_true(process_of_path("/proc/42/status", &pid));
	assert_int_equal(pid, 42);
	assert_false(process_of_path("/proc/42/stat", &pid));
	assert_false(process_of_path("/proc/self/status", &pid));
	assert_false(process_of_path("/proc/99999999999/status", &pid));
	assert_false(process_of_path("/proc/42", &pid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_found_by_its_whole_name),
		cmocka_unit_test(what_a_text_lacks_is_unknown_and_not_zero),
		cmocka_unit_test(counts_of_zones_are_summed_and_those_of_page_kinds_are_not),
		cmocka_unit_test(pressure_is_in_hundredths),
		cmocka_unit_test(a_name_with_parentheses_does_not_move_the_fields),
		cmocka_unit_test(a_process_is_read),
		cmocka_unit_test(unlimited_is_no_number),
		cmocka_unit_test(a_path_is_a_process_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
