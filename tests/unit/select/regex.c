#include "../test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "select/regex.h"

static struct regex *create(const char *pattern)
{
	struct regex_problem problem;
	struct regex *regex = NULL;

	if (!regex_create(pattern, &regex, &problem))
		fail_msg("%s: %s at %d", pattern, problem.text, (int)problem.at);
	return regex;
}

static void names_match_somewhere_or_where_they_must(void **state)
{
	static const struct {
		const char *pattern;
		const char *text;
		bool matches;
	} rows[] = {
		{ "parse", "http::parse(int)", true },
		{ "^parse", "http::parse(int)", false },
		{ "\\.c$", "/src/list.c", true },
		{ "LIST", "/src/list.c", false },
		{ "(?i)LIST", "/src/list.c", true },
		{ "", "anything", true },
		{ "^$", "", true },
		{ "^.$", "\xc3\xa4", true }, /* a letter, not two bytes */
		{ "operator\\(\\)", "a::operator()(int)", true },
		{ "^a(?!b)", "ac", true },
		{ "\\Q<b>\\E", "x<b>", true },
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		CLEAN(regex_destroy) struct regex *regex = create(rows[i].pattern);

		assert_int_equal(regex_match(regex, rows[i].text),
				 rows[i].matches ? REGEX_YES : REGEX_NO);
	}
}

static void a_wrong_pattern_is_shown_where_it_is_wrong(void **state)
{
	static const struct {
		const char *pattern;
		size_t at;
	} rows[] = { { "a(b", 3 }, { "a[b", 3 },  { "*", 0 },
		     { "a\\", 2 }, { "\xff", 0 }, { "a\\Cb", 3 } };

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct regex_problem problem = { 0 };
		struct regex *regex = NULL;

		assert_false(regex_create(rows[i].pattern, &regex, &problem));
		assert_null(regex);
		assert_true(problem.text[0]);
		assert_int_equal(problem.at, rows[i].at);
	}
}

static void a_pattern_may_not_be_without_end(void **state)
{
	enum { BYTES = 20 << 10 };
	char *pattern = malloc(BYTES + 1);
	struct regex_problem problem;
	struct regex *regex = NULL;

	(void)state;
	assert_non_null(pattern);
	memset(pattern, 'a', BYTES);
	pattern[BYTES] = '\0';
	assert_false(regex_create(pattern, &regex, &problem));
	free(pattern);
}

/* Names come from tapes: they may be anything. */
static void bytes_that_are_no_text_do_no_harm(void **state)
{
	static const char *const patterns[] = {
		".*x", "\\bx$", "[^a]+", "(?i)\\w*", "\\X", "^\\W"
	};
	uint32_t seed = 1;

	(void)state;
	for (size_t i = 0; i < array_size(patterns); i++) {
		CLEAN(regex_destroy) struct regex *regex = create(patterns[i]);

		for (int round = 0; round < 2000; round++) {
			char text[33];

			for (size_t at = 0; at < sizeof(text) - 1; at++) {
				seed = seed * 1664525 + 1013904223;
				text[at] = (char)(1 + (seed >> 16) % 255);
			}
			text[sizeof(text) - 1] = '\0';
			assert_true(regex_match(regex, text) != REGEX_TOO_HARD);
		}
		assert_true(regex_match(regex, "\xff\xfe x") != REGEX_TOO_HARD);
	}
}

static void what_would_take_for_ever_is_given_up(void **state)
{
	static const char *const patterns[] = { "^(a+)+$", "^(a|a)*b?$", "^((a*)*)*c?$",
						"(x+x+)+y|^(.*.*)*[0-9]$" };
	char text[41];
	const clock_t begin = clock();

	(void)state;
	memset(text, 'a', sizeof(text) - 2);
	text[sizeof(text) - 2] = '!';
	text[sizeof(text) - 1] = '\0';
	for (size_t i = 0; i < array_size(patterns); i++) {
		CLEAN(regex_destroy) struct regex *regex = create(patterns[i]);

		assert_int_equal(regex_match(regex, text), REGEX_TOO_HARD);
		assert_int_equal(regex_match(regex, "x"),
				 regex_match(regex, "x")); /* still usable */
	}
	assert_true(clock() - begin < 20 * CLOCKS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_match_somewhere_or_where_they_must),
		cmocka_unit_test(a_wrong_pattern_is_shown_where_it_is_wrong),
		cmocka_unit_test(a_pattern_may_not_be_without_end),
		cmocka_unit_test(bytes_that_are_no_text_do_no_harm),
		cmocka_unit_test(what_would_take_for_ever_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
