#include "../test.h"

#include <math.h>

#include "base/str.h"

static char buf[STR_SHORT_BYTES];

static const struct {
	uint64_t bytes;
	const char *text;
} sizes[] = {
	{ 0, "0 B" },
	{ 1023, "1023 B" },
	{ 1024, "1.0 KiB" },
	{ 1536, "1.5 KiB" },
	{ 1048523, "1023.9 KiB" },
	{ 1048525, "1.0 MiB" }, /* 1024.0 of the smaller unit is never shown */
	{ 12897484, "12.3 MiB" },
	{ UINT64_C(1) << 40, "1.0 TiB" },
	{ UINT64_MAX, "16.0 EiB" },
};

static void sizes_are_shown_in_iec_units(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(sizes); i++)
		assert_string_equal(str_iec(buf, sizes[i].bytes), sizes[i].text);
}

static const struct {
	uint64_t ns;
	const char *text;
} durations[] = {
	{ 0, "0 ns" },
	{ 999, "999 ns" },
	{ 1500, "1.50 us" },
	{ 12340, "12.3 us" },
	{ 850000, "850 us" },
	{ 4210000000, "4.21 s" },
	{ 119000000000, "119 s" },
	{ 200000000000, "3m 20s" },
	{ 7500000000000, "2h 05m" },
};

static void durations_have_three_digits(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(durations); i++)
		assert_string_equal(str_duration(buf, durations[i].ns), durations[i].text);
}

static void numbers_are_grouped_and_percents_of_nothing_are_zero(void **state)
{
	(void)state;
	assert_string_equal(str_grouped(buf, 0), "0");
	assert_string_equal(str_grouped(buf, 1234567), "1,234,567");
	assert_string_equal(str_grouped(buf, 1000000), "1,000,000");
	assert_string_equal(str_grouped(buf, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(str_percent(buf, 0, 0), "0.0 %");
	assert_string_equal(str_percent(buf, 1, 3), "33.3 %");
	assert_string_equal(str_percent(buf, UINT64_MAX, UINT64_MAX), "100.0 %");
}

static void doubles_are_printed_without_exponent(void **state)
{
	CLEAN(str_deinit) struct str str = { 0 };

	(void)state;
	str_add_double(&str, -1.25, 1);
	str_add_char(&str, ' ');
	str_add_double(&str, 1e15, 0);
	str_add_char(&str, ' ');
	str_add_double(&str, NAN, 2);
	str_add_char(&str, ' ');
	str_add_double(&str, -0.0001, 2);
	assert_string_equal(str_text(&str), "-1.3 1000000000000000 0 0.00");
}

static void large_doubles_are_short_for_people(void **state)
{
	const double values[] = { 0.1239, -999.9, 1000, -67010.786, 0x1p70, NAN };
	CLEAN(str_deinit) struct str str = { 0 };

	(void)state;
	for (size_t i = 0; i < array_size(values); i++) {
		str_add_short_double(&str, values[i], 3);
		str_add_char(&str, ' ');
	}
	assert_string_equal(str_text(&str),
			    "0.124 -999.900 1,000 -67,011 18446744073709549518.848 0 ");
}

static void hostile_text_is_made_harmless(void **state)
{
	CLEAN(str_deinit) struct str str = { 0 };

	(void)state;
	str_add_terminal(&str, "a\033[31m\n\xc2\x9b\xff\xc3\xa9");
	assert_string_equal(str_text(&str), "a?[31m???\xc3\xa9");
	str_clear(&str);
	str_add_json(&str, "\"\\\n\x01\xff\xc3\xa9\xed\xa0\x80</script>");
	assert_string_equal(str_text(&str),
			    "\"\\\"\\\\\\n\\u0001\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd"
			    "\xef\xbf\xbd</script>\"");
	str_clear(&str);
	str_add_xml(&str, "<a href='x'>&\"\x02");
	assert_string_equal(str_text(&str), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;\xef\xbf\xbd");
	str_clear(&str);
	str_add_csv(&str, "\xff"
			  "b,\xc3\xa4");
	assert_string_equal(str_text(&str), "\"\xef\xbf\xbd"
					    "b,\xc3\xa4\"");
	str_clear(&str);
	str_add_csv(&str, "plain");
	str_add_char(&str, ',');
	str_add_csv(&str, "a,\"b\"\n");
	assert_string_equal(str_text(&str), "plain,\"a,\"\"b\"\"\n\"");
}

static void a_failed_str_stays_failed_until_cleared(void **state)
{
	struct str str = { 0 };

	(void)state;
	str_add_repeated(&str, 'x', SIZE_MAX - 10);
	assert_true(str.failed);
	str_add(&str, "more");
	assert_string_equal(str_text(&str), "");
	str_clear(&str);
	str_add(&str, "more");
	assert_string_equal(str_text(&str), "more");
	str_deinit(&str);
}

static void numbers_are_read_whole_or_not_at_all(void **state)
{
	uint64_t value = 7;

	(void)state;
	assert_true(str_parse_u64("18446744073709551615", &value));
	assert_int_equal(value, UINT64_MAX);
	assert_false(str_parse_u64("18446744073709551616", &value));
	assert_false(str_parse_u64("", &value));
	assert_false(str_parse_u64("-1", &value));
	assert_false(str_parse_u64("1 ", &value));
	assert_true(str_parse_bytes("1.5MiB", &value));
	assert_int_equal(value, 1572864);
	assert_true(str_parse_bytes("64k", &value));
	assert_int_equal(value, 65536);
	assert_false(str_parse_bytes("99999999999T", &value));
	assert_false(str_parse_bytes("1.x", &value));
	assert_true(str_parse_duration("1.5ms", &value));
	assert_int_equal(value, 1500000);
	assert_true(str_parse_duration("10", &value));
	assert_int_equal(value, 10000000000);
	assert_false(str_parse_duration("10 s", &value));
	assert_true(str_parse_age("1.5d", &value));
	assert_int_equal(value, 36 * UINT64_C(3600000000000));
	assert_true(str_parse_age("2w", &value));
	assert_int_equal(value, 14 * 24 * UINT64_C(3600000000000));
	assert_true(str_parse_age("90min", &value));
	assert_int_equal(value, UINT64_C(5400000000000));
	for (size_t i = 0; i < 5; i++)
		assert_false(
			str_parse_age((const char *[]) { "10", "5m", "", "d", "1e3d" }[i], &value));
}

static const struct {
	uint64_t value, divisor;
	unsigned decimals;
	const char *text;
} ratios[] = {
	{ 1, 3, 9, "0.333333333" },
	{ 2, 3, 3, "0.667" },
	{ 1, 2, 0, "1" },
	{ 9995, 1000, 2, "10.00" },
	{ UINT64_MAX, 1, 9, "18446744073709551615.000000000" },
	{ UINT64_C(1) << 63, UINT64_MAX, 9, "0.500000000" },
	{ UINT64_MAX - 1, UINT64_MAX, 3, "1.000" },
	{ UINT64_MAX / 3 * 2, UINT64_MAX, 9, "0.666666667" },
	{ 7, 0, 3, "0" },
};

static void ratios_are_rounded_half_up_however_large(void **state)
{
	CLEAN(str_deinit) struct str str = { 0 };

	(void)state;
	for (size_t i = 0; i < array_size(ratios); i++) {
		str_clear(&str);
		str_add_ratio(&str, ratios[i].value, ratios[i].divisor, ratios[i].decimals);
		assert_string_equal(str_text(&str), ratios[i].text);
	}
	str_clear(&str);
	str_add_double(&str, 1e10, 9); /* with its decimals more than 63 bits */
	assert_string_equal(str_text(&str), "10000000000.000000000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_shown_in_iec_units),
		cmocka_unit_test(durations_have_three_digits),
		cmocka_unit_test(ratios_are_rounded_half_up_however_large),
		cmocka_unit_test(numbers_are_grouped_and_percents_of_nothing_are_zero),
		cmocka_unit_test(doubles_are_printed_without_exponent),
		cmocka_unit_test(large_doubles_are_short_for_people),
		cmocka_unit_test(hostile_text_is_made_harmless),
		cmocka_unit_test(a_failed_str_stays_failed_until_cleared),
		cmocka_unit_test(numbers_are_read_whole_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
