/* Rules of how much is kept. */
#include "../test.h"

#include "folder/keep.h"

static void sizes_ages_and_numbers_are_distinguished(void **state)
{
	struct keep_rules rules = { KEEP_ALL, KEEP_ALL, KEEP_ALL };

	(void)state;
	assert_null(keep_parse("10GiB", &rules));
	assert_null(keep_parse("30d", &rules));
	assert_null(keep_parse("500", &rules));
	assert_int_equal(rules.bytes, UINT64_C(10) << 30);
	assert_int_equal(rules.age_ns, UINT64_C(30) * 24 * 3600 * 1000000000);
	assert_int_equal(rules.count, 500);
	assert_null(keep_parse("600", &rules));
	assert_null(keep_parse("1k", &rules));
	assert_int_equal(rules.count, 500); /* the stricter one */
	assert_int_equal(rules.bytes, 1024);
}

static void what_could_be_two_things_is_refused(void **state)
{
	static const char *const texts[] = { "500m", "500M", "1.5m", "", "m", "-5", "10 GiB", "x" };
	struct keep_rules rules = { KEEP_ALL, KEEP_ALL, KEEP_ALL };

	(void)state;
	for (size_t i = 0; i < array_size(texts); i++) {
		CLEAN(err_destroy) struct err *err = keep_parse(texts[i], &rules);

		assert_non_null(err);
		assert_int_equal(err_code_of(err), ERR_USAGE);
		assert_int_equal(strstr(err_message(err), "mebibytes?") != NULL, i < 3);
	}
	assert_true(rules.bytes == KEEP_ALL && rules.age_ns == KEEP_ALL && rules.count == KEEP_ALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_ages_and_numbers_are_distinguished),
		cmocka_unit_test(what_could_be_two_things_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
