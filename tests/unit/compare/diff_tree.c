#include "../fake_model.h"

#include "compare/diff_boxes.h"

/* Two builds: the second has the same functions elsewhere, one of them split by the compiler. */
static const char *const functions[] = {
	"main", "load", "keep",	       "lose", "operator new(unsigned long)",
	"main", "load", "keep.part.0", "win",  "operator new(unsigned long)",
	NULL,
};

enum { MAIN = 1, LOAD, KEEP, OTHER, NEW, BUILD = 5 /* from one build's to the other's */ };

struct fixture {
	struct model models[DIFF_SIDES];
	struct sums sums[DIFF_SIDES];
	struct diff_side sides[DIFF_SIDES];
	struct arena arena;
	struct diff_tree tree;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		fake_model_init(&fixture->models[side], functions);
		fixture->models[side].process.exe = side == DIFF_A ? "/opt/1/shop" : "/opt/2/shop";
		fixture->sides[side] = (struct diff_side) {
			.sums = &fixture->sums[side],
			.names = names_create(&fixture->models[side], NULL),
			.units = 1,
		};
		assert_non_null(fixture->sides[side].names);
	}
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	arena_deinit(&fixture->arena);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		names_destroy(fixture->sides[side].names);
		fake_model_deinit(&fixture->models[side]);
	}
	free(fixture);
	return 0;
}

static uint32_t call(struct fixture *fixture, unsigned side, uint32_t parent, unsigned function)
{
	return fake_call(&fixture->models[side], parent, function + side * BUILD, 8 + side);
}

/* main -> load -> keep 100 | 300, main -> lose 50 in A, main -> win 30 in B, main itself 7 | 7. */
static void fill(struct fixture *fixture)
{
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		const uint32_t main = call(fixture, side, CAPTURE_STACK_ROOT, MAIN);
		const uint32_t load = call(fixture, side, main, LOAD);
		const uint32_t keep = call(fixture, side, load, KEEP);
		const uint32_t by_new = call(fixture, side, keep, NEW);
		const uint32_t other = call(fixture, side, main, OTHER);
		struct model *model = &fixture->models[side];

		fake_allocate(model, by_new, 1, side == DIFF_A ? 100 : 300, 0);
		fake_allocate(model, other, side == DIFF_A ? 5 : 3, 10, 0);
		fake_allocate(model, main, 1, 7, 0);
	}
}

static void build(struct fixture *fixture, enum walk_mode mode)
{
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		fixture->sums[side] = sums_of_model(&fixture->models[side]);
	assert_null(diff_tree_build(fixture->sides, mode, METRIC_PEAK, &fixture->arena,
				    &fixture->tree));
}

/* "main:157>337(load:100>300 ...)" */
static void describe(const struct diff_tree *tree, uint32_t node, char *text, size_t size)
{
	const struct diff_node *at = &tree->nodes[node];
	size_t len = strlen(text);

	if (node != DIFF_ROOT)
		snprintf(text + len, size - len, "%s:%d>%d", diff_tree_name(tree, node)->function,
			 (int)at->totals[DIFF_A], (int)at->totals[DIFF_B]);
	if (at->first_child == DIFF_NONE)
		return;
	strcat(text, "(");
	for (uint32_t child = at->first_child; child != DIFF_NONE;
	     child = tree->nodes[child].next_sibling) {
		strcat(text, child == at->first_child ? "" : " ");
		describe(tree, child, text, size);
	}
	strcat(text, ")");
}

static void expect(struct fixture *fixture, const char *expected)
{
	char text[1024] = "";

	describe(&fixture->tree, DIFF_ROOT, text, sizeof(text));
	assert_string_equal(text, expected);
}

static uint32_t find(const struct diff_tree *tree, const char *function)
{
	for (uint32_t i = 1; i < tree->count; i++) {
		if (strcmp(diff_tree_name(tree, i)->function, function) == 0)
			return i;
	}
	fail_msg("no node %s", function);
	return DIFF_NONE;
}

static void moved_and_split_functions_meet_and_what_vanished_stays(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture);
	build(fixture, WALK_EXACT);
	expect(fixture, "(main:157>337(load:100>300(keep.part.0:100>300) lose:50>0 win:0>30))");
	build(fixture, WALK_ALL);
	expect(fixture, "(main:157>337(load:100>300(keep.part.0:100>300("
			"operator new(unsigned long):100>300)) lose:50>0 win:0>30))");
}

static void both_sides_add_up_at_every_node(void **state)
{
	struct fixture *fixture = *state;
	const struct diff_tree *tree = &fixture->tree;

	fill(fixture);
	build(fixture, WALK_EXACT);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		assert_int_equal(tree->nodes[DIFF_ROOT].totals[side],
				 fixture->sums[side].total.peak.bytes);
		assert_int_equal(tree->nodes[DIFF_ROOT].calls[side],
				 fixture->sums[side].total.peak.count);
		for (size_t i = 0; i < tree->count; i++) {
			uint64_t sum = tree->nodes[i].selfs[side];

			for (uint32_t child = tree->nodes[i].first_child; child != DIFF_NONE;
			     child = tree->nodes[child].next_sibling)
				sum += tree->nodes[child].totals[side];
			assert_int_equal(sum, tree->nodes[i].totals[side]);
		}
	}
}

static void a_node_is_as_wide_as_its_stacks_where_they_are_larger(void **state)
{
	struct fixture *fixture = *state;
	const struct diff_tree *tree = &fixture->tree;

	fill(fixture);
	build(fixture, WALK_EXACT);
	assert_true(tree->nodes[find(tree, "lose")].width == 50);
	assert_true(tree->nodes[find(tree, "load")].width == 300);
	assert_true(tree->nodes[DIFF_ROOT].width == 300 + 50 + 30 + 7);
}

static void units_of_work_change_who_grew(void **state)
{
	struct fixture *fixture = *state;
	const struct diff_tree *tree = &fixture->tree;

	fill(fixture);
	build(fixture, WALK_EXACT);
	assert_int_equal(diff_tree_status(tree, find(tree, "load")), DIFF_GROWN);
	assert_int_equal(diff_tree_status(tree, find(tree, "lose")), DIFF_GONE);
	assert_int_equal(diff_tree_status(tree, find(tree, "win")), DIFF_NEW);
	fixture->sides[DIFF_B].units = 10;
	build(fixture, WALK_EXACT);
	assert_int_equal(diff_tree_status(tree, find(tree, "load")), DIFF_SHRUNK);
	assert_true(tree->nodes[find(tree, "load")].width == 100);
	assert_true(tree->nodes[find(tree, "win")].width == 3);
}

static void a_way_is_found_by_hashes_as_far_as_it_goes(void **state)
{
	struct fixture *fixture = *state;
	const struct diff_tree *tree = &fixture->tree;
	uint64_t path[3];

	fill(fixture);
	build(fixture, WALK_EXACT);
	path[0] = diff_tree_hash(tree, find(tree, "main"));
	path[1] = diff_tree_hash(tree, find(tree, "lose"));
	path[2] = path[0];
	assert_int_equal(diff_tree_find(tree, path, 0), DIFF_ROOT);
	assert_int_equal(diff_tree_find(tree, path, 2), find(tree, "lose"));
	assert_int_equal(diff_tree_find(tree, path, 3), find(tree, "lose"));
	assert_int_equal(diff_tree_find(tree, path + 1, 2), DIFF_ROOT);
}

static void small_boxes_are_one_and_nothing_is_lost(void **state)
{
	struct fixture *fixture = *state;
	struct diff_boxes_settings settings = { .share_min = 5, .count_max = 1000 };
	struct diff_boxes boxes;

	fill(fixture);
	build(fixture, WALK_EXACT);
	assert_null(diff_boxes_make(&fixture->tree, &settings, &fixture->arena, &boxes));
	/* all, main, load, the rest of main, keep */
	assert_int_equal(boxes.count, 5);
	assert_int_equal(boxes.items[3].node, DIFF_NONE);
	assert_int_equal(boxes.items[3].count, 2);
	assert_true(boxes.items[3].values[DIFF_A] == 50);
	assert_true(boxes.items[3].values[DIFF_B] == 30);
	assert_true(boxes.items[3].begin == 300);
	assert_true(boxes.items[3].width == 80);
	assert_true(boxes.items[1].self == 7);
	settings = (struct diff_boxes_settings) { .count_max = 1 };
	assert_null(diff_boxes_make(&fixture->tree, &settings, &fixture->arena, &boxes));
	assert_true(boxes.count <= 2);
	assert_true(boxes.items[0].values[DIFF_B] == 337);
	settings = (struct diff_boxes_settings) { .count_max = 1000, .depth_max = 1 };
	assert_null(diff_boxes_make(&fixture->tree, &settings, &fixture->arena, &boxes));
	assert_int_equal(boxes.count, 3); /* all, main, and what is below */
	assert_true(boxes.items[2].values[DIFF_A] == 150);
}

static void two_empty_tapes_are_one_node(void **state)
{
	struct fixture *fixture = *state;
	const struct diff_boxes_settings settings = { .count_max = 10, .share_min = 100 };
	struct diff_boxes boxes;

	build(fixture, WALK_EXACT);
	assert_int_equal(fixture->tree.count, 1);
	assert_int_equal(diff_tree_status(&fixture->tree, DIFF_ROOT), DIFF_SAME);
	assert_null(diff_boxes_make(&fixture->tree, &settings, &fixture->arena, &boxes));
	assert_int_equal(boxes.count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(moved_and_split_functions_meet_and_what_vanished_stays),
		TEST(both_sides_add_up_at_every_node),
		TEST(a_node_is_as_wide_as_its_stacks_where_they_are_larger),
		TEST(units_of_work_change_who_grew),
		TEST(a_way_is_found_by_hashes_as_far_as_it_goes),
		TEST(small_boxes_are_one_and_nothing_is_lost),
		TEST(two_empty_tapes_are_one_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
