#include "../test.h"

#include <stdlib.h>

#include "collect/pattern.h"

static const struct pattern_values values = {
	.program = "/usr/bin/python3", .pid = 42, .start_seconds = 1700000000, .number = 3
};

static void placeholders_are_replaced_and_the_rest_stays(void **state)
{
	static const struct {
		const char *pattern, *path;
	} rows[] = {
		{ "memtape.%e.%p.mtape", "memtape.python3.42.mtape" },
		{ "%t-%n", "1700000000-3" },
		{ "100%%", "100%" },
		{ "50% of %x%", "50% of %x%" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		CLEAN(str_deinit) struct str path = { 0 };

		pattern_expand(&path, rows[i].pattern, &values);
		assert_string_equal(str_text(&path), rows[i].path);
	}
}

static void a_percent_sign_before_a_letter_is_no_placeholder(void **state)
{
	(void)state;
	assert_true(pattern_has("a%pb", 'p'));
	assert_true(pattern_has("%%%p", 'p'));
	assert_false(pattern_has("a%%pb", 'p'));
	assert_false(pattern_has("p%", 'p'));
}

static void a_directory_with_percent_signs_stays_what_it_is(void **state)
{
	CLEAN(str_deinit) struct str absolute = { 0 };
	CLEAN(str_deinit) struct str path = { 0 };
	char directory[] = "/tmp/50%p-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(directory));
	assert_int_equal(chdir(directory), 0);
	assert_null(pattern_absolute(&absolute, "tape.%p"));
	pattern_expand(&path, absolute.ptr, &values);
	assert_int_equal(strncmp(path.ptr, directory, strlen(directory)), 0);
	assert_string_equal(path.ptr + strlen(directory), "/tape.42");
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placeholders_are_replaced_and_the_rest_stays),
		cmocka_unit_test(a_percent_sign_before_a_letter_is_no_placeholder),
		cmocka_unit_test(a_directory_with_percent_signs_stays_what_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
