#include "../test.h"

#include "core/glob.h"

static const struct {
	const char *list;
	const char *name;
	bool matches;
} rows[] = {
	{ "python", "python", true },
	{ "python", "python3", false },
	{ "python", "pytho", false },
	{ "python*", "python", true },
	{ "python*", "python3.11", true },
	{ "*", "", true },
	{ "*", "x", true },
	{ "?", "", false },
	{ "?", "x", true },
	{ "?", "xy", false },
	{ "*a*b*c", "aXbXbYc", true },
	{ "*a*b*c", "aXbXbYcd", false },
	{ "*ab", "aab", true },
	{ "cc[1-3]", "cc2", true },
	{ "cc[1-3]", "cc4", false },
	{ "cc[!1-3]", "cc4", true },
	{ "cc[^1-3]", "cc1", false },
	{ "[]x]", "]", true },
	{ "[!]x]", "]", false },
	{ "[a-]", "-", true },
	{ "[a", "[a", true },
	{ "[a", "a", false },
	{ "[", "[", true },
	{ "[\xc0-\xff]", "\xe4", true },
	{ "gcc,ld", "ld", true },
	{ "gcc,ld", "gcc", true },
	{ "gcc,ld", "gcc,ld", false },
	{ "gcc,,ld,", "", false },
	{ "", "", false },
	{ "a,b*", "bcd", true },
	{ "[a,b]", "a", false }, /* a comma ends a pattern wherever it stands */
};

static void names_match_as_in_a_shell(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(rows); i++)
		if (glob_list_matches(rows[i].list, rows[i].name) != rows[i].matches)
			fail_msg("%s, %s", rows[i].list, rows[i].name);
}

/* By trying every '*' at every place this would take longer than anybody waits. */
static void many_stars_take_no_time(void **state)
{
	char pattern[64] = { 0 };
	char name[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(pattern) - 2; i += 2)
		memcpy(pattern + i, "*a", 2);
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	name[sizeof(name) - 2] = 'b';
	assert_false(glob_list_matches(pattern, name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_match_as_in_a_shell),
		cmocka_unit_test(many_stars_take_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
