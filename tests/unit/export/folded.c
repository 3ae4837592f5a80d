#include "../fake_model.h"

#include "export/export.h"

extern const struct export_format export_folded;

static const char *const functions[] = { "main",       "f(int; char)", "with space",
					 "\033[2Jbad", "_start",       NULL };

enum { MAIN = 1, SEMICOLON, SPACE, ESCAPE, START };

struct fixture {
	struct model model;
	struct names *names;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fake_model_init(&fixture->model, functions);
	fixture->names = names_create(&fixture->model, NULL);
	assert_non_null(fixture->names);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	names_destroy(fixture->names);
	fake_model_deinit(&fixture->model);
	free(fixture);
	return 0;
}

static void expect(struct fixture *fixture, enum metric metric, const char *expected)
{
	const struct export_context context = {
		.model = &fixture->model,
		.names = fixture->names,
		.sums = sums_of_model(&fixture->model),
		.metric = metric,
	};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_null(export_folded.write(&context, out));
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void the_outermost_function_comes_first(void **state)
{
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;
	const uint32_t main_stack = fake_call(model, CAPTURE_STACK_ROOT, MAIN, 4);

	fake_allocate(model, fake_call(model, main_stack, SPACE, 4), 2, 50, 1);
	fake_allocate(model, main_stack, 1, 7, 0);
	expect(fixture, METRIC_PEAK, "main 7\nmain;with space 100\n");
	expect(fixture, METRIC_COUNT, "main 1\nmain;with space 2\n");
	expect(fixture, METRIC_LEAKED, "main;with space 50\n");
	expect(fixture, METRIC_TEMPORARY, "");
}

static void nothing_in_a_name_ends_a_frame_or_a_line(void **state)
{
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;
	const uint32_t outer = fake_call(model, CAPTURE_STACK_ROOT, SEMICOLON, 4);

	fake_allocate(model, fake_call(model, outer, ESCAPE, 4), 1, 1, 0);
	expect(fixture, METRIC_PEAK, "f(int: char);?[2Jbad 1\n");
}

static void stacks_that_look_the_same_are_one_line(void **state)
{
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;

	fake_allocate(model, fake_call(model, CAPTURE_STACK_ROOT, MAIN, 4), 1, 10, 0);
	fake_allocate(model, fake_call(model, CAPTURE_STACK_ROOT, MAIN, 8), 1, 20, 0);
	expect(fixture, METRIC_PEAK, "main 30\n");
}

static void what_is_folded_away_entirely_still_counts(void **state)
{
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;

	fake_allocate(model, fake_call(model, CAPTURE_STACK_ROOT, START, 4), 1, 5, 0);
	fake_allocate(model, fake_call(model, CAPTURE_STACK_TRUNCATED, MAIN, 4), 1, 6, 0);
	expect(fixture, METRIC_PEAK,
	       "(outside of the program) 5\n(outer frames not known);main 6\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_outermost_function_comes_first),
		TEST(nothing_in_a_name_ends_a_frame_or_a_line),
		TEST(stacks_that_look_the_same_are_one_line),
		TEST(what_is_folded_away_entirely_still_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
