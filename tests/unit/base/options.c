#include "../test.h"

#include "base/options.h"

struct settings {
	const char *output, *along;
	uint64_t top, size, wait_ns;
	bool force, free_stacks;
	int verbose, sort;
	struct option_list with;
};

static const char *const sorts[] = { "peak", "leaked", "leaves", NULL };

static const struct option_row rows[] = {
	{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct settings, output), "write to FILE",
	  NULL },
	{ "force", 'f', NULL, OPTION_FLAG, offsetof(struct settings, force), "overwrite", NULL },
	{ "no-free-stacks", 0, NULL, OPTION_UNFLAG, offsetof(struct settings, free_stacks),
	  "no stacks of frees", NULL },
	{ "top", 'n', "N", OPTION_U64, offsetof(struct settings, top), "show N rows", NULL },
	{ "size", 0, "BYTES", OPTION_BYTES, offsetof(struct settings, size), "at least", NULL },
	{ "wait", 0, "TIME", OPTION_DURATION, offsetof(struct settings, wait_ns), "wait", NULL },
	{ "sort", 's', "KEY", OPTION_CHOICE, offsetof(struct settings, sort), "order by", sorts },
	{ "with", 'w', "WORD", OPTION_LIST, offsetof(struct settings, with), "and that", NULL },
	{ "verbose", 'v', NULL, OPTION_COUNT, offsetof(struct settings, verbose), "say more",
	  NULL },
	{ "along", 0, "NAMES", OPTION_OPTIONAL, offsetof(struct settings, along), "go along",
	  NULL },
};

static struct option_table table = { "prog [options]", "Does it.", rows, array_size(rows), 0 };

enum { WORDS_MAX = 12 };

/* Parses the words of line; the error's text, "" when it went well. */
static const char *parse(const char *line, struct settings *settings, char *operands)
{
	static char copy[256], message[256], name[] = "prog";
	char *argv[WORDS_MAX] = { name }, *save = NULL;
	struct err *err;
	int argc = 1, count = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	*settings = (struct settings) { .free_stacks = true };
	err = options_parse(&table, argc, argv, settings, &count);
	snprintf(message, sizeof(message), "%s", err ? err_message(err) : "");
	assert_true(!err || err_code_of(err) == ERR_USAGE);
	err_destroy(err);
	operands[0] = '\0';
	for (int i = 1; i <= count; i++)
		snprintf(operands + strlen(operands), 100, "%s;", argv[i]);
	return message;
}

static void every_way_to_write_an_option_works(void **state)
{
	static const char *const lines[] = {
		"--output x --top 5 --force --verbose --verbose a",
		"-o x -n 5 -f -v -v a",
		"-ox -n5 -fvv a",
		"a --out=x --to=5 --fo --verb -v",
		"-vfvox --top=5 -- a",
	};
	struct settings settings;
	char operands[256];

	(void)state;
	for (size_t i = 0; i < array_size(lines); i++) {
		assert_string_equal(parse(lines[i], &settings, operands), "");
		assert_string_equal(settings.output, "x");
		assert_int_equal(settings.top, 5);
		assert_true(settings.force);
		assert_true(settings.free_stacks);
		assert_int_equal(settings.verbose, 2);
		assert_string_equal(operands, "a;");
	}
}

static void values_are_read_by_kind(void **state)
{
	struct settings settings;
	char operands[256];

	(void)state;
	assert_string_equal(
		parse("--size 64k --wait 5ms --sort leak --no-free-stacks", &settings, operands),
		"");
	assert_int_equal(settings.size, 65536);
	assert_int_equal(settings.wait_ns, 5000000);
	assert_int_equal(settings.sort, 1);
	assert_false(settings.free_stacks);
}

static void an_optional_value_is_never_the_next_word(void **state)
{
	struct settings settings;
	char operands[256];

	(void)state;
	assert_string_equal(parse("--along a", &settings, operands), "");
	assert_string_equal(settings.along, "");
	assert_string_equal(operands, "a;");
	assert_string_equal(parse("--along=b,c a", &settings, operands), "");
	assert_string_equal(settings.along, "b,c");
	assert_string_equal(operands, "a;");
	assert_string_equal(parse("a", &settings, operands), "");
	assert_null(settings.along);
}

static const struct {
	const char *line;
	const char *error;
} bad[] = {
	{ "--nonsense", "--nonsense: unknown option; see --help" },
	{ "-z", "-z: unknown option; see --help" },
	{ "--top", "--top: needs N" },
	{ "--top five", "--top five: expected a number" },
	{ "--force=yes", "--force: takes no argument" },
	{ "--sort lea", "--sort lea: ambiguous" },
	{ "--sort x", "--sort x: expected one of peak, leaked, leaves" },
	{ "--along=", "--along=: needs NAMES" },
	{ "--size 5q", "--size 5q: expected a size like 4096, 64k or 1.5GiB" },
};

static void a_list_keeps_all_in_their_order(void **state)
{
	struct settings settings;
	char operands[256];

	(void)state;
	assert_string_equal(parse("--with a=b -wc x --with=d", &settings, operands), "");
	assert_int_equal(settings.with.count, 3);
	assert_string_equal(settings.with.items[0], "a=b");
	assert_string_equal(settings.with.items[1], "c");
	assert_string_equal(settings.with.items[2], "d");
}

static void mistakes_are_told_in_the_users_words(void **state)
{
	struct settings settings;
	char operands[256];

	(void)state;
	for (size_t i = 0; i < array_size(bad); i++)
		assert_string_equal(parse(bad[i].line, &settings, operands), bad[i].error);
	assert_non_null(strstr(parse("--fo --o", &settings, operands), "needs FILE"));
}

static void a_programs_own_options_are_left_alone(void **state)
{
	struct settings settings;
	char operands[256];

	(void)state;
	table.stop_at_operand = 1;
	assert_string_equal(parse("-f ls -o x --nonsense", &settings, operands), "");
	assert_true(settings.force);
	assert_null(settings.output);
	assert_string_equal(operands, "ls;-o;x;--nonsense;");
	table.stop_at_operand = 2;
	assert_string_equal(parse("kind -o x ls -f", &settings, operands), "");
	table.stop_at_operand = 0;
	assert_false(settings.force);
	assert_string_equal(settings.output, "x");
	assert_string_equal(operands, "kind;ls;-f;");
}

static bool asks_for_help(const char *line, int stop_at_operand)
{
	char copy[256], *argv[WORDS_MAX], *save = NULL;
	int argc = 0;
	bool asks;

	snprintf(copy, sizeof(copy), "prog %s", line);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	table.stop_at_operand = stop_at_operand;
	asks = options_ask_for_help(&table, argc, argv);
	table.stop_at_operand = 0;
	return asks;
}

static void help_is_asked_for_among_the_options_only(void **state)
{
	(void)state;
	assert_true(asks_for_help("-o x --help", 1));
	assert_true(asks_for_help("-fo x --help", 1));
	assert_true(asks_for_help("-ox --output=x --top 3 --along --help", 1));
	assert_true(asks_for_help("--nonsense -z --help", 1));
	assert_true(asks_for_help("ls cat --help", 0));
	assert_true(asks_for_help("kind -f --help ls", 2));
	assert_false(asks_for_help("ls --help", 1));
	assert_false(asks_for_help("-f ls --help", 1));
	assert_false(asks_for_help("-- --help", 0));
	assert_false(asks_for_help("-o --help", 1));
	assert_false(asks_for_help("kind -o x ls --help", 2));
	assert_false(asks_for_help("", 1));
}

static void help_shows_every_option_within_the_width(void **state)
{
	CLEAN(str_deinit) struct str help = { 0 };
	const char *line;

	(void)state;
	options_help(&table, 60, &help);
	for (size_t i = 0; i < array_size(rows); i++)
		assert_non_null(strstr(str_text(&help), rows[i].name));
	assert_non_null(strstr(str_text(&help), "(peak, leaked,"));
	assert_non_null(strstr(str_text(&help), "leaves)"));
	for (line = str_text(&help); *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_to_write_an_option_works),
		cmocka_unit_test(values_are_read_by_kind),
		cmocka_unit_test(a_list_keeps_all_in_their_order),
		cmocka_unit_test(an_optional_value_is_never_the_next_word),
		cmocka_unit_test(mistakes_are_told_in_the_users_words),
		cmocka_unit_test(a_programs_own_options_are_left_alone),
		cmocka_unit_test(help_is_asked_for_among_the_options_only),
		cmocka_unit_test(help_shows_every_option_within_the_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
