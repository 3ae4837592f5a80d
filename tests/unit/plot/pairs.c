#include "../test.h"

#include "plot/pairs.h"

static const struct {
	const char *what;
	const char *text;
	enum pairs_columns columns;
	size_t count;
	struct pair last;
} good[] = {
	{ "nothing", "", PAIRS_TWO, 0, { 0 } },
	{ "plain", "1 2\n3 4\n", PAIRS_TWO, 2, { 3, 4 } },
	{ "no newline at the end", "1 2\n3 4", PAIRS_TWO, 2, { 3, 4 } },
	{ "fractions, signs, blanks", "\t 1.5   -2e3\t\r\n", PAIRS_TWO, 1, { 1.5, -2000 } },
	{ "a heading", "time latency\n1 2\n", PAIRS_TWO, 1, { 1, 2 } },
	{ "comments and empty lines", "# a\n\n1 2\n \n# b\n5 6\n", PAIRS_TWO, 2, { 5, 6 } },
	{ "more columns", "1 2 three 4\n", PAIRS_TWO, 1, { 1, 2 } },
	{ "more columns later", "1 2\n3 4 five\n", PAIRS_TWO, 2, { 3, 4 } },
	{ "differences", "10\n12\n15 more\n", PAIRS_DELTA, 2, { 15, 3 } },
	{ "one time has no difference", "10\n", PAIRS_DELTA, 0, { 0 } },
};

static void texts_are_pairs(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(good); i++) {
		CLEAN(pair_vec_deinit) struct pair_vec pairs = { 0 };
		const struct pair *last;

		assert_null(pairs_parse(good[i].text, strlen(good[i].text), good[i].columns, "x",
					&pairs));
		if (pairs.count != good[i].count)
			fail_msg("%s: %zu pairs", good[i].what, pairs.count);
		if (pairs.count == 0)
			continue;
		last = &pairs.items[pairs.count - 1];
		assert_true(last->time == good[i].last.time);
		assert_true(last->value == good[i].last.value);
	}
}

static const struct {
	const char *text;
	const char *message;
} bad[] = {
	{ "1 2\n3\n", "x, line 2: expected two numbers, not '3'" },
	{ "1 2\n\n3 y\n", "x, line 3: expected two numbers, not '3 y'" },
	{ "1 2\n3 inf\n", "x, line 2: expected two numbers, not '3 inf'" },
	{ "1 2\n3 4,5\n", "x, line 2: expected two numbers, not '3 4,5'" },
	{ "1 1e999\n1 1e999\n", "x, line 2: expected two numbers, not '1 1e999'" },
};

static void errors_tell_the_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(bad); i++) {
		CLEAN(pair_vec_deinit) struct pair_vec pairs = { 0 };
		struct err *err =
			pairs_parse(bad[i].text, strlen(bad[i].text), PAIRS_TWO, "x", &pairs);

		assert_non_null(err);
		assert_string_equal(err_message(err), bad[i].message);
		assert_int_equal(err_code_of(err), ERR_FORMAT);
		err_destroy(err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_pairs),
		cmocka_unit_test(errors_tell_the_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
