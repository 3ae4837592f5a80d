#include "../fake_model.h"

#include "query/suppress.h"

static const char *const functions[] = {
	"main", "parse::all(int)", "cache_fill", "operator new(unsigned long)", "_dl_allocate_tls",
	NULL,
};

enum { MAIN = 1, PARSE, CACHE, NEW, TLS };

struct fixture {
	struct model model;
	struct names *names;
	struct arena arena;
	uint32_t parse, cache, tls;
};

static uint32_t leak(struct fixture *fixture, uint32_t parent, unsigned function, uint64_t bytes)
{
	const uint32_t stack = fake_call(&fixture->model, parent, function, 0);

	fake_allocate(&fixture->model, stack, 1, bytes, 1);
	return stack;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint32_t start;

	assert_non_null(fixture);
	fake_model_init(&fixture->model, functions);
	fixture->names = names_create(&fixture->model, NULL);
	assert_non_null(fixture->names);
	start = fake_call(&fixture->model, CAPTURE_STACK_ROOT, MAIN, 0);
	fixture->parse = leak(fixture, fake_call(&fixture->model, start, PARSE, 0), NEW, 100);
	fixture->cache = leak(fixture, start, CACHE, 10);
	fixture->tls = leak(fixture, start, TLS, 1);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	arena_deinit(&fixture->arena);
	names_destroy(fixture->names);
	fake_model_deinit(&fixture->model);
	free(fixture);
	return 0;
}

static struct suppressed apply(struct fixture *fixture, const char *text,
			       struct suppressions *suppressions)
{
	const struct sums sums = sums_of_model(&fixture->model);
	struct suppressed suppressed;

	assert_null(suppressions_parse(text, "test", &fixture->arena, suppressions));
	assert_null(
		suppress_leaks(suppressions, &sums, fixture->names, &fixture->arena, &suppressed));
	return suppressed;
}

static void what_every_program_leaks_is_built_in(void **state)
{
	struct fixture *fixture = *state;
	struct suppressions suppressions;
	struct suppressed suppressed = apply(fixture, "", &suppressions);

	assert_int_equal(suppressed.leaked.bytes, 1);
	assert_int_equal(suppressed.sums.stacks[fixture->tls].leaked.count, 0);
	assert_int_equal(suppressed.sums.stacks[fixture->tls].allocated.count, 1);
	assert_int_equal(suppressed.sums.stacks[fixture->parse].leaked.bytes, 100);
	assert_non_null(suppressions.rules[suppressed.rule_of[fixture->tls] - 1].reason);
	assert_int_equal(suppressed.rule_of[fixture->parse], 0);
}

/* Rules, and the bytes that they take away besides the one built in. */
static const struct {
	const char *text;
	uint64_t bytes;
} rows[] = {
	{ "leak:parse", 100 },
	{ "leak:cache_fill\nleak:parse::all", 110 },
	{ "# leak:parse\n\n   \n  leak:cache  \r\n", 10 },
	{ "leak:^cache_fill$", 10 },
	{ "leak:^ache", 0 },
	{ "leak:cache$", 0 },
	{ "leak:^pa*int)$", 100 },
	{ "leak:p*e*:*)", 100 },
	{ "leak:*", 110 },
	{ "leak:main", 110 }, /* any frame */
	{ "leak:^main$\nleak:cache", 110 },
	{ "leak:^p*pp", 0 },
	{ "race:cache_fill", 0 },
};

static void rules_are_looked_for_in_every_frame(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < array_size(rows); i++) {
		struct suppressions suppressions;
		struct suppressed suppressed = apply(fixture, rows[i].text, &suppressions);
		struct model_sum by = { 0 };

		assert_int_equal(suppressed.leaked.bytes, rows[i].bytes + 1);
		for (size_t at = 0; at < suppressions.count; at++) {
			by.bytes += suppressed.leaked_by[at].bytes;
			by.count += suppressed.leaked_by[at].count;
		}
		assert_int_equal(by.bytes, suppressed.leaked.bytes);
		assert_int_equal(by.count, suppressed.leaked.count);
	}
}

static void the_total_is_what_is_left(void **state)
{
	struct fixture *fixture = *state;
	struct suppressions suppressions;
	struct suppressed suppressed = apply(fixture, "leak:cache", &suppressions);
	struct model_sum left = { 0 };

	for (size_t i = 0; i < model_stack_count(&fixture->model); i++) {
		left.count += suppressed.sums.stacks[i].leaked.count;
		left.bytes += suppressed.sums.stacks[i].leaked.bytes;
	}
	assert_int_equal(left.bytes, 100);
	assert_int_equal(suppressed.sums.total.leaked.bytes, left.bytes);
	assert_int_equal(suppressed.sums.total.leaked.count, left.count);
}

static void a_line_that_is_no_rule_is_told(void **state)
{
	struct fixture *fixture = *state;
	struct suppressions suppressions;
	struct err *err =
		suppressions_parse("leak:a\nnonsense\n", "my.supp", &fixture->arena, &suppressions);

	assert_int_equal(err_code_of(err), ERR_USAGE);
	assert_non_null(strstr(err_message(err), "my.supp, line 2"));
	err_destroy(err);
	err = suppressions_load("/nonexistent", &fixture->arena, &suppressions);
	assert_int_equal(err_code_of(err), ERR_SYSTEM);
	err_destroy(err);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_every_program_leaks_is_built_in),
		TEST(rules_are_looked_for_in_every_frame),
		TEST(the_total_is_what_is_left),
		TEST(a_line_that_is_no_rule_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
