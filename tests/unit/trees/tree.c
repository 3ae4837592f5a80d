#include "../fake_model.h"

#include "sums/name_hash.h"
#include "trees/tree.h"

static const char *const functions[] = { "main", "a", "b", "c", "d", "e", "f", "g", NULL };

enum { MAIN = 1, A, B, C, FUNCTIONS = 8 };

struct fixture {
	struct model model;
	struct names *names;
	struct arena arena;
	struct tree tree;
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

	arena_deinit(&fixture->arena);
	names_destroy(fixture->names);
	fake_model_deinit(&fixture->model);
	free(fixture);
	return 0;
}

static void build(struct fixture *fixture, enum tree_direction direction, uint64_t value_min,
		  uint32_t depth_max)
{
	const struct tree_settings settings = {
		.direction = direction,
		.metric = METRIC_PEAK,
		.value_min = value_min,
		.depth_max = depth_max,
	};

	const struct sums sums = sums_of_model(&fixture->model);

	assert_null(tree_build(&sums, fixture->names, &settings, &fixture->arena, &fixture->tree));
}

/* "main:30(a:10 b:20)": functions with the bytes of their subtrees. */
static void describe(struct fixture *fixture, uint32_t node, char *text, size_t size)
{
	const struct tree_node *at = &fixture->tree.nodes[node];
	size_t len = strlen(text);

	if (node != TREE_ROOT)
		snprintf(text + len, size - len, "%s:%d",
			 names_get(fixture->names, at->name)->function, (int)at->total.peak.bytes);
	if (at->first_child == TREE_NONE)
		return;
	strcat(text, "(");
	for (uint32_t child = at->first_child; child != TREE_NONE;
	     child = fixture->tree.nodes[child].next_sibling) {
		if (child != at->first_child)
			strcat(text, " ");
		describe(fixture, child, text, size);
	}
	strcat(text, ")");
}

static void expect(struct fixture *fixture, const char *expected)
{
	char text[1024] = "";

	describe(fixture, TREE_ROOT, text, sizeof(text));
	assert_string_equal(text, expected);
}

/* main calls a (twice, from different lines) and b; b calls a. */
static void grow_small_tree(struct model *model)
{
	const uint32_t main_stack = fake_call(model, CAPTURE_STACK_ROOT, MAIN, 4);
	const uint32_t other_line = fake_call(model, CAPTURE_STACK_ROOT, MAIN, 8);
	const uint32_t b = fake_call(model, main_stack, B, 4);

	fake_allocate(model, fake_call(model, main_stack, A, 4), 1, 10, 0);
	fake_allocate(model, fake_call(model, other_line, A, 8), 1, 5, 0);
	fake_allocate(model, fake_call(model, b, A, 4), 1, 20, 0);
	fake_allocate(model, b, 1, 1, 0);
}

static void calls_from_several_lines_are_one_node(void **state)
{
	struct fixture *fixture = *state;

	grow_small_tree(&fixture->model);
	build(fixture, TREE_TOP_DOWN, 0, 0);
	expect(fixture, "(main:36(b:21(a:20) a:15))");
	assert_int_equal(fixture->tree.nodes[TREE_ROOT].total.peak.bytes, 36);
}

static void bottom_up_begins_with_those_who_allocate(void **state)
{
	struct fixture *fixture = *state;

	grow_small_tree(&fixture->model);
	build(fixture, TREE_BOTTOM_UP, 0, 0);
	expect(fixture, "(a:35(b:20(main:20) main:15) b:1(main:1))");
}

static void what_is_pruned_still_counts_for_its_parents(void **state)
{
	struct fixture *fixture = *state;

	grow_small_tree(&fixture->model);
	build(fixture, TREE_TOP_DOWN, 16, 0);
	expect(fixture, "(main:36(b:21(a:20)))");
	assert_int_equal(fixture->tree.pruned_count, 1); /* a, called from two lines of main */
	build(fixture, TREE_BOTTOM_UP, 16, 0);
	expect(fixture, "(a:35(b:20(main:20)))");
}

/* Of both directions, with recursion as it is and as one node. */
static void what_is_hidden_belongs_to_its_callers(void **state)
{
	static const struct {
		enum tree_direction direction;
		bool merges;
		const char *expected;
	} rows[] = {
		{ TREE_TOP_DOWN, false, "(main:36(a:35))" },
		{ TREE_TOP_DOWN, true, "(main:36(a:35))" },
		{ TREE_BOTTOM_UP, false, "(a:35(main:35) main:1)" },
		{ TREE_BOTTOM_UP, true, "(a:35(main:35) main:1)" },
	};
	struct fixture *fixture = *state;
	const struct name *name = NULL;
	struct walk_hidden hidden = { .function_count = 1, .modules = "other.so" };
	struct sums sums;
	uint64_t hash;

	grow_small_tree(&fixture->model);
	fixture->model.process.exe = "/bin/program";
	sums = sums_of_model(&fixture->model);
	build(fixture, TREE_TOP_DOWN, 0, 0);
	for (size_t i = 1; i < fixture->tree.count; i++) {
		name = names_get(fixture->names, fixture->tree.nodes[i].name);
		if (strcmp(name->function, "b") == 0)
			break;
	}
	hash = name_hash(&fixture->model, name);
	hidden.functions = &hash;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct tree_settings settings = { .direction = rows[i].direction,
						  .metric = METRIC_PEAK,
						  .hidden = &hidden,
						  .merges_recursion = rows[i].merges };

		assert_null(tree_build(&sums, fixture->names, &settings, &fixture->arena,
				       &fixture->tree));
		expect(fixture, rows[i].expected);
		assert_int_equal(fixture->tree.nodes[TREE_ROOT].total.peak.bytes, 36);
	}
}

static void depth_can_be_limited(void **state)
{
	struct fixture *fixture = *state;

	grow_small_tree(&fixture->model);
	build(fixture, TREE_TOP_DOWN, 0, 2);
	expect(fixture, "(main:36(b:21 a:15))");
	build(fixture, TREE_BOTTOM_UP, 0, 1);
	expect(fixture, "(a:35 b:1)");
}

static void focus_on(struct fixture *fixture, enum tree_direction direction, const char *function)
{
	const struct sums sums = sums_of_model(&fixture->model);
	struct tree_settings settings = { .direction = direction, .metric = METRIC_PEAK };
	struct focus focus;

	assert_null(focus_find(&sums, fixture->names, function, &fixture->arena, &focus));
	settings.focus = &focus;
	assert_null(tree_build(&sums, fixture->names, &settings, &fixture->arena, &fixture->tree));
}

static void a_function_is_seen_from_both_sides(void **state)
{
	struct fixture *fixture = *state;

	grow_small_tree(&fixture->model);
	focus_on(fixture, TREE_TOP_DOWN, "b");
	expect(fixture, "(b:21(a:20))");
	focus_on(fixture, TREE_BOTTOM_UP, "b");
	expect(fixture, "(b:21(main:21))");
	focus_on(fixture, TREE_BOTTOM_UP, "a");
	expect(fixture, "(a:35(b:20(main:20) main:15))");
	assert_int_equal(fixture->tree.nodes[TREE_ROOT].total.peak.bytes, 35);
}

/* main -> a -> b -> a -> c: all of it is inside of the outer a, once. */
static void a_function_that_comes_back_to_itself_counts_once(void **state)
{
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;
	const uint32_t outer =
		fake_call(model, fake_call(model, CAPTURE_STACK_ROOT, MAIN, 4), A, 4);
	const uint32_t inner = fake_call(model, fake_call(model, outer, B, 4), A, 4);

	fake_allocate(model, fake_call(model, inner, C, 4), 1, 10, 0);
	fake_allocate(model, inner, 1, 5, 0);
	fake_allocate(model, outer, 1, 2, 0);
	focus_on(fixture, TREE_TOP_DOWN, "a");
	expect(fixture, "(a:17(b:15(a:15(c:10))))");
	focus_on(fixture, TREE_BOTTOM_UP, "a");
	expect(fixture, "(a:17(main:17))");
}

static void a_function_that_is_not_there_is_told(void **state)
{
	struct fixture *fixture = *state;
	struct focus focus;
	struct sums sums;
	CLEAN(err_destroy) struct err *err = NULL;

	grow_small_tree(&fixture->model);
	sums = sums_of_model(&fixture->model);
	err = focus_find(&sums, fixture->names, "zz", &fixture->arena, &focus);
	assert_int_equal(err_code_of(err), ERR_NOT_FOUND);
}

static void a_word_finds_names_in_full_before_parts(void **state)
{
	struct fixture *fixture = *state;

	grow_small_tree(&fixture->model);
	focus_on(fixture, TREE_TOP_DOWN, "a"); /* not main, which has it as a part */
	expect(fixture, "(a:35)");
	focus_on(fixture, TREE_TOP_DOWN, "ai");
	expect(fixture, "(main:36(b:21(a:20) a:15))");
}

static void cut_and_missing_stacks_stand_apart(void **state)
{
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;

	fake_allocate(model, fake_call(model, CAPTURE_STACK_TRUNCATED, A, 4), 1, 3, 0);
	fake_allocate(model, CAPTURE_STACK_NONE, 1, 2, 0);
	build(fixture, TREE_TOP_DOWN, 0, 0);
	expect(fixture, "((outer frames not known):3(a:3) (no stack taken):2)");
	build(fixture, TREE_BOTTOM_UP, 0, 0);
	expect(fixture, "(a:3((outer frames not known):3) (no stack taken):2)");
}

static void an_empty_tape_is_a_root(void **state)
{
	struct fixture *fixture = *state;

	build(fixture, TREE_TOP_DOWN, 0, 0);
	assert_int_equal(fixture->tree.count, 1);
	build(fixture, TREE_BOTTOM_UP, 0, 0);
	assert_int_equal(fixture->tree.count, 1);
}

/* Recursion deeper than any stack of ours: nothing here may recurse along with it. */
static void a_hundred_thousand_frames_deep_is_no_problem(void **state)
{
	struct fixture *fixture = *state;
	uint32_t stack = CAPTURE_STACK_ROOT;

	for (unsigned i = 0; i < 100000; i++)
		stack = fake_call(&fixture->model, stack, MAIN, 4);
	fake_allocate(&fixture->model, stack, 1, 7, 0);
	build(fixture, TREE_TOP_DOWN, 0, 0);
	assert_int_equal(fixture->tree.count, 100001);
	assert_int_equal(fixture->tree.nodes[100000].total.peak.bytes, 7);
	build(fixture, TREE_BOTTOM_UP, 0, 0);
	assert_int_equal(fixture->tree.count, 100001);
}

static uint32_t random_next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void grow_random_tree(struct model *model, uint32_t seed, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint32_t parent = random_next(&seed) % (uint32_t)model->stack_count;

		if (parent == CAPTURE_STACK_NONE)
			parent = CAPTURE_STACK_ROOT;
		fake_allocate(model,
			      fake_call(model, parent, 1 + random_next(&seed) % FUNCTIONS,
					random_next(&seed) % 64),
			      1 + random_next(&seed) % 5, random_next(&seed) % 100, 1);
	}
}

/* Whatever was pruned: no node has less than its children together, and none is out of order. */
static void check_sums(struct fixture *fixture)
{
	const struct tree *tree = &fixture->tree;

	for (uint32_t i = 0; i < tree->count; i++) {
		uint64_t sum = tree->nodes[i].self.peak.bytes;
		uint64_t before = UINT64_MAX;

		for (uint32_t child = tree->nodes[i].first_child; child != TREE_NONE;
		     child = tree->nodes[child].next_sibling) {
			assert_int_equal(tree->nodes[child].parent, i);
			assert_true(child > i);
			assert_true(tree->nodes[child].total.peak.bytes <= before);
			before = tree->nodes[child].total.peak.bytes;
			sum += before;
		}
		if (tree->pruned_count == 0)
			assert_int_equal(sum, tree->nodes[i].total.peak.bytes);
		else
			assert_true(sum <= tree->nodes[i].total.peak.bytes);
	}
	assert_int_equal(tree->nodes[TREE_ROOT].total.peak.bytes, fixture->model.totals.peak.bytes);
	assert_int_equal(tree->nodes[TREE_ROOT].total.leaked.count,
			 fixture->model.totals.leaked.count);
}

/* --- without recursion --------------------------------------------------------------------- */

static void fold(struct fixture *fixture, enum tree_direction direction, const char *focus_word)
{
	const struct sums sums = sums_of_model(&fixture->model);
	struct tree_settings settings = { .direction = direction,
					  .metric = METRIC_PEAK,
					  .merges_recursion = true };
	struct focus focus;

	if (focus_word) {
		assert_null(focus_find(&sums, fixture->names, focus_word, &fixture->arena, &focus));
		settings.focus = &focus;
	}
	assert_null(tree_build(&sums, fixture->names, &settings, &fixture->arena, &fixture->tree));
}

/* Calls of one another from main on; the last one allocates. */
static void grow_path(struct model *model, const char *path, uint64_t bytes)
{
	uint32_t stack = fake_call(model, CAPTURE_STACK_ROOT, MAIN, 4);

	for (; *path; path++)
		stack = fake_call(model, stack, (uint32_t)(A + *path - 'a'), 4);
	fake_allocate(model, stack, 1, bytes, 0);
}

static const struct {
	const char *paths[4];
	const char *down, *up;
} folded[] = {
	{ { "aab" }, "(main:1(a:1(b:1)))", "(b:1(a:1(main:1)))" },
	{ { "ababc" }, "(main:1(a:1(b:1(c:1))))", "(c:1(b:1(a:1(main:1))))" },
	{ { "abad" }, "(main:1(a:1(d:1)))", "(d:1(a:1(main:1)))" },
	{ { "abcabc" }, "(main:1(a:1(b:1(c:1))))", "(c:1(b:1(a:1(main:1))))" },
	{ { "ab", "aba", "abab" }, "(main:7(a:7(b:5)))", "(b:5(a:5(main:5)) a:2(main:2))" },
	{ { "abac", "ac", "cac" }, "(main:7(c:4 a:3(c:3)))", "(c:7(main:4 a:3(main:3)))" },
};

static void cycles_of_several_functions_are_folded(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(folded); i++) {
		void *own;
		struct fixture *fixture;

		setup(&own);
		fixture = own;
		for (size_t path = 0; path < 4 && folded[i].paths[path]; path++)
			grow_path(&fixture->model, folded[i].paths[path], UINT64_C(1) << path);
		fold(fixture, TREE_TOP_DOWN, NULL);
		expect(fixture, folded[i].down);
		fold(fixture, TREE_BOTTOM_UP, NULL);
		expect(fixture, folded[i].up);
		teardown(&own);
	}
}

static void one_function_of_a_cycle_has_both_sides(void **state)
{
	struct fixture *fixture = *state;

	grow_path(&fixture->model, "cabababd", 1);
	grow_path(&fixture->model, "bd", 2);
	fold(fixture, TREE_TOP_DOWN, "b");
	expect(fixture, "(b:3(d:3))");
	fold(fixture, TREE_BOTTOM_UP, "b");
	expect(fixture, "(b:3(main:2 a:1(c:1(main:1))))");
}

static void recursion_without_end_is_one_frame(void **state)
{
	struct fixture *fixture = *state;
	uint32_t stack = CAPTURE_STACK_ROOT;

	for (unsigned i = 0; i < 100000; i++)
		stack = fake_call(&fixture->model, stack, MAIN + i % 3, 4);
	fake_allocate(&fixture->model, stack, 1, 7, 0);
	fold(fixture, TREE_TOP_DOWN, NULL);
	expect(fixture, "(main:7)"); /* 99999 is a multiple of three */
	fold(fixture, TREE_BOTTOM_UP, NULL);
	expect(fixture, "(main:7)");
}

static void check_no_function_twice(const struct tree *tree)
{
	for (uint32_t i = 1; i < tree->count; i++) {
		for (uint32_t up = tree->nodes[i].parent; up != TREE_ROOT;
		     up = tree->nodes[up].parent)
			assert_int_not_equal(tree->nodes[up].name, tree->nodes[i].name);
	}
}

static void folded_sums_add_up_in_any_tree(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t seed = 1; seed <= 5; seed++) {
		grow_random_tree(&fixture->model, seed, 2000);
		for (int direction = TREE_TOP_DOWN; direction <= TREE_BOTTOM_UP; direction++) {
			fold(fixture, (enum tree_direction)direction, NULL);
			check_sums(fixture);
			check_no_function_twice(&fixture->tree);
		}
	}
}

static void sums_add_up_in_any_tree(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t seed = 1; seed <= 5; seed++) {
		grow_random_tree(&fixture->model, seed, 2000);
		for (uint64_t value_min = 0; value_min <= 1000; value_min += 500) {
			build(fixture, TREE_TOP_DOWN, value_min, 0);
			check_sums(fixture);
			build(fixture, TREE_BOTTOM_UP, value_min, 0);
			check_sums(fixture);
		}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void totals_of_before_make_the_same_tree(void **state)
{
	struct fixture *fixture = *state;
	const uint8_t directions[] = { TREE_TOP_DOWN, TREE_BOTTOM_UP };

	grow_random_tree(&fixture->model, 3, 2000);
	for (size_t i = 0; i < array_size(directions); i++) {
		struct sums sums = sums_of_model(&fixture->model);
		const struct tree_settings settings = {
			.direction = (enum tree_direction)directions[i]
		};
		struct tree tree;

		assert_null(sums_total_up(&sums, &fixture->arena));
		assert_non_null(sums.totals);
		build(fixture, settings.direction, 0, 0);
		assert_null(tree_build(&sums, fixture->names, &settings, &fixture->arena, &tree));
		assert_int_equal(tree.count, fixture->tree.count);
		assert_true(tree.count > 100);
		assert_memory_equal(tree.nodes, fixture->tree.nodes,
				    tree.count * sizeof(*tree.nodes));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(calls_from_several_lines_are_one_node),
		TEST(bottom_up_begins_with_those_who_allocate),
		TEST(what_is_pruned_still_counts_for_its_parents),
		TEST(what_is_hidden_belongs_to_its_callers),
		TEST(depth_can_be_limited),
		TEST(a_function_is_seen_from_both_sides),
		TEST(a_function_that_comes_back_to_itself_counts_once),
		TEST(a_function_that_is_not_there_is_told),
		TEST(a_word_finds_names_in_full_before_parts),
		TEST(cut_and_missing_stacks_stand_apart),
		TEST(an_empty_tape_is_a_root),
		TEST(a_hundred_thousand_frames_deep_is_no_problem),
		TEST(cycles_of_several_functions_are_folded),
		TEST(one_function_of_a_cycle_has_both_sides),
		TEST(recursion_without_end_is_one_frame),
		TEST(folded_sums_add_up_in_any_tree),
		TEST(sums_add_up_in_any_tree),
		TEST(totals_of_before_make_the_same_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
