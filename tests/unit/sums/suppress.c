#include "../fake_model.h"

#include "sums/suppress.h"

static const char *const functions[] = {
	"main", "parse::all(int)", "cache_fill", "operator new(unsigned long)", "_dl_allocate_tls",
	NULL,
};

enum { MAIN = 1, PARSE, CACHE, NEW, TLS };

struct fixture {
	struct model model;
	struct names *names;
	struct arena arena;
	struct suppressions rules;
	struct suppressor suppressor;
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

	suppressor_deinit(&fixture->suppressor);
	arena_deinit(&fixture->arena);
	names_destroy(fixture->names);
	fake_model_deinit(&fixture->model);
	free(fixture);
	return 0;
}

static const struct suppressed *apply(struct fixture *fixture, const char *text)
{
	const struct suppressed *suppressed;

	assert_null(suppressions_parse(text, "test", &fixture->arena, &fixture->rules));
	suppressor_deinit(&fixture->suppressor);
	suppressor_init(&fixture->suppressor, &fixture->model, fixture->names, &fixture->rules);
	assert_null(suppressor_find(&fixture->suppressor, &suppressed));
	assert_non_null(suppressed);
	return suppressed;
}

static void what_every_program_leaks_is_built_in(void **state)
{
	struct fixture *fixture = *state;
	const struct suppressed *suppressed = apply(fixture, "");

	assert_int_equal(suppressed->leaks.total.bytes, 1);
	assert_int_equal(sums_of_stack(&suppressed->sums, fixture->tls)->leaked.count, 0);
	assert_int_equal(sums_of_stack(&suppressed->sums, fixture->tls)->allocated.count, 1);
	assert_int_equal(sums_of_stack(&suppressed->sums, fixture->parse)->leaked.bytes, 100);
	assert_non_null(fixture->rules.rules[suppressed->rule_of[fixture->tls] - 1].reason);
	assert_int_equal(suppressed->rule_of[fixture->parse], 0);
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
		const struct suppressed_leaks *leaks = &apply(fixture, rows[i].text)->leaks;
		struct model_sum by = { 0 };

		assert_int_equal(leaks->total.bytes, rows[i].bytes + 1);
		for (size_t at = 0; at < fixture->rules.count; at++) {
			by.bytes += leaks->by_rule[at].bytes;
			by.count += leaks->by_rule[at].count;
		}
		assert_int_equal(by.bytes, leaks->total.bytes);
		assert_int_equal(by.count, leaks->total.count);
	}
}

static void the_total_is_what_is_left(void **state)
{
	struct fixture *fixture = *state;
	const struct suppressed *suppressed = apply(fixture, "leak:cache");
	struct model_sum left = { 0 };

	for (size_t i = 0; i < model_stack_count(&fixture->model); i++) {
		left.count += sums_of_stack(&suppressed->sums, i)->leaked.count;
		left.bytes += sums_of_stack(&suppressed->sums, i)->leaked.bytes;
	}
	assert_int_equal(left.bytes, 100);
	assert_int_equal(suppressed->sums.total.leaked.bytes, left.bytes);
	assert_int_equal(suppressed->sums.total.leaked.count, left.count);
}

static void a_line_that_is_no_rule_is_told(void **state)
{
	struct fixture *fixture = *state;
	struct suppressions suppressions;
	struct err *err =
		suppressions_parse("leak:a\nnonsense\n", "my.supp", &fixture->arena, &suppressions);

	assert_int_equal(err_code_of(err), ERR_USAGE);
	assert_non_null(strstr(err_message(err), "my.supp:2"));
	err_destroy(err);
	err = suppressions_load("/nonexistent", &fixture->arena, &suppressions);
	assert_int_equal(err_code_of(err), ERR_SYSTEM);
	err_destroy(err);
}

/* A part of the tape: of a stack that is suppressed it may have some, all or nothing. */
static void sums_of_a_part_lose_what_they_have(void **state)
{
	struct fixture *fixture = *state;
	const struct suppressed *suppressed = apply(fixture, "leak:parse");
	const size_t count = model_stack_count(&fixture->model);
	struct model_stack_sums *stacks = arena_array(&fixture->arena, count, sizeof(*stacks));
	struct model_stack_sums total = { .leaked = { 3, 75 } };
	struct suppressed_leaks leaks;

	assert_non_null(stacks);
	stacks[fixture->parse].leaked = (struct model_sum) { 2, 70 };
	stacks[fixture->cache].leaked = (struct model_sum) { 1, 5 };
	assert_null(suppressed_take_out(suppressed, sums_by_id(&fixture->model, stacks), &total,
					&fixture->arena, &leaks));
	assert_int_equal(total.leaked.bytes, 5);
	assert_int_equal(total.leaked.count, 1);
	assert_int_equal(leaks.total.bytes, 70);
	assert_int_equal(leaks.by_rule[suppressed->rule_of[fixture->parse] - 1].count, 2);
	assert_int_equal(stacks[fixture->parse].leaked.bytes, 0);
	assert_int_equal(stacks[fixture->cache].leaked.bytes, 5);
}

static void without_rules_nothing_is_suppressed(void **state)
{
	struct fixture *fixture = *state;
	const struct suppressed *suppressed;

	suppressor_init(&fixture->suppressor, &fixture->model, fixture->names, NULL);
	assert_null(suppressor_find(&fixture->suppressor, &suppressed));
	assert_null(suppressed);
	assert_null(suppressor_find(NULL, &suppressed));
	assert_null(suppressed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_every_program_leaks_is_built_in),
		TEST(rules_are_looked_for_in_every_frame),
		TEST(the_total_is_what_is_left),
		TEST(sums_of_a_part_lose_what_they_have),
		TEST(without_rules_nothing_is_suppressed),
		TEST(a_line_that_is_no_rule_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
