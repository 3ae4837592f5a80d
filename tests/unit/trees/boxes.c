/* What is drawn of a tree: of the way to a node, of what is too small, of recursion. */
#include "../fake_model.h"

#include "sums/name_hash.h"
#include "trees/boxes.h"

static const char *const functions[] = { "main", "a", "b", "c", "d", "e", "f", "g", NULL };

enum { MAIN = 1, A, B, C, FUNCTIONS = 8 };

struct fixture {
	struct model model;
	struct names *names;
	struct arena arena;
	struct tree_settings settings;
	struct tree tree;
	struct boxes boxes;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fake_model_init(&fixture->model, functions);
	fixture->model.process.exe = "/usr/bin/program";
	fixture->names = names_create(&fixture->model, NULL);
	assert_non_null(fixture->names);
	fixture->settings.metric = METRIC_PEAK;
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

static void make(struct fixture *fixture, size_t count_max)
{
	const struct sums sums = sums_of_model(&fixture->model);

	assert_null(tree_build(&sums, fixture->names, &fixture->settings, &fixture->arena,
			       &fixture->tree));
	assert_null(boxes_make(&fixture->tree, fixture->tree.path_end, count_max, &fixture->arena,
			       &fixture->boxes));
}

/* "0:all=36 1:main=36@0": depth, name, value and left edge of each box; "?3" are three together. */
static void expect(struct fixture *fixture, const char *expected)
{
	char text[2048] = "";

	for (size_t i = 0; i < fixture->boxes.count; i++) {
		const struct box *box = &fixture->boxes.items[i];
		const size_t len = strlen(text);
		const char *name =
			box->node == TREE_NONE || box->node == TREE_ROOT
				? "all"
				: names_get(fixture->names, fixture->tree.nodes[box->node].name)
					  ->function;

		if (box->node == TREE_NONE)
			snprintf(text + len, sizeof(text) - len, "%s%u:?%d=%d@%d", i ? " " : "",
				 box->depth, (int)box->count, (int)box->value, (int)box->begin);
		else
			snprintf(text + len, sizeof(text) - len, "%s%u:%s=%d@%d", i ? " " : "",
				 box->depth, name, (int)box->value, (int)box->begin);
	}
	assert_string_equal(text, expected);
}

static uint64_t hash_of(struct fixture *fixture, unsigned function)
{
	const uint32_t stack = fake_call(&fixture->model, CAPTURE_STACK_ROOT, function, 4);
	const struct name_frames frames = names_frames(fixture->names, stack);

	return name_hash(&fixture->model, names_get(fixture->names, frames.frames[0].name));
}

/* main calls a (10), b (1 itself, and a: 20) and c (2). */
static void grow(struct model *model)
{
	const uint32_t main_stack = fake_call(model, CAPTURE_STACK_ROOT, MAIN, 4);
	const uint32_t b = fake_call(model, main_stack, B, 4);

	fake_allocate(model, fake_call(model, main_stack, A, 4), 1, 10, 0);
	fake_allocate(model, fake_call(model, b, A, 4), 1, 20, 0);
	fake_allocate(model, b, 1, 1, 0);
	fake_allocate(model, fake_call(model, main_stack, C, 4), 1, 2, 0);
}

static void siblings_lie_side_by_side_the_largest_first(void **state)
{
	struct fixture *fixture = *state;

	grow(&fixture->model);
	make(fixture, 100);
	expect(fixture, "0:all=33@0 1:main=33@0 2:b=21@0 2:a=10@21 2:c=2@31 3:a=20@0");
}

static void what_is_too_small_is_one_box_more(void **state)
{
	struct fixture *fixture = *state;

	grow(&fixture->model);
	fixture->settings.value_min = 11;
	make(fixture, 100);
	expect(fixture, "0:all=33@0 1:main=33@0 2:b=21@0 2:?2=12@21 3:a=20@0");
	fixture->settings.value_min = 0;
	make(fixture, 6); /* three functions and, below each, what is left */
	expect(fixture, "0:all=33@0 1:main=33@0 2:b=21@0 2:?2=12@21 3:?1=20@0");
}

static void a_path_leads_to_what_is_enlarged(void **state)
{
	struct fixture *fixture = *state;
	uint64_t path[2];

	grow(&fixture->model);
	path[0] = hash_of(fixture, MAIN);
	path[1] = hash_of(fixture, B);
	fixture->settings.path = path;
	fixture->settings.path_count = 2;
	fixture->settings.share_min = 2; /* of b: half of 21 */
	make(fixture, 100);
	expect(fixture, "0:b=21@0 1:a=20@0");
	path[1] = 12345;
	make(fixture, 100);
	assert_int_equal(fixture->tree.path_end, 1);
	expect(fixture, "0:main=33@0 1:?0=33@0"); /* nothing beside the way was looked at */
}

static void a_path_goes_up_as_well(void **state)
{
	struct fixture *fixture = *state;
	uint64_t path[2];

	grow(&fixture->model);
	path[0] = hash_of(fixture, A);
	path[1] = hash_of(fixture, B);
	fixture->settings.path = path;
	fixture->settings.path_count = 2;
	fixture->settings.direction = TREE_BOTTOM_UP;
	make(fixture, 100);
	expect(fixture, "0:b=20@0 1:main=20@0");
}

/* main -> a -> a -> b -> a: only the two that follow each other are one. */
static void recursion_can_be_one_box(void **state)
{
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;
	const uint32_t first =
		fake_call(model, fake_call(model, CAPTURE_STACK_ROOT, MAIN, 4), A, 4);
	const uint32_t second = fake_call(model, first, A, 8);
	const uint32_t last = fake_call(model, fake_call(model, second, B, 4), A, 4);

	fake_allocate(model, first, 1, 1, 0);
	fake_allocate(model, second, 1, 2, 0);
	fake_allocate(model, last, 1, 4, 0);
	make(fixture, 100);
	expect(fixture, "0:all=7@0 1:main=7@0 2:a=7@0 3:a=6@0 4:b=4@0 5:a=4@0");
	fixture->settings.merges_recursion = true;
	make(fixture, 100);
	expect(fixture, "0:all=7@0 1:main=7@0 2:a=7@0");
	assert_int_equal(fixture->boxes.items[2].self, 7);
	fixture->settings.direction = TREE_BOTTOM_UP;
	make(fixture, 100);
	expect(fixture, "0:all=7@0 1:a=7@0 2:main=7@0");
}

static uint32_t random_next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void grow_random(struct model *model, uint32_t seed, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint32_t parent = random_next(&seed) % (uint32_t)model->stack_count;

		if (parent == CAPTURE_STACK_NONE)
			parent = CAPTURE_STACK_ROOT;
		fake_allocate(model,
			      fake_call(model, parent, 1 + random_next(&seed) % FUNCTIONS,
					random_next(&seed) % 64),
			      1, random_next(&seed) % 100, 0);
	}
}

/* Children and what is its own fill every box to the byte, without gaps and in order. */
static void check_boxes(const struct boxes *boxes, size_t count_max)
{
	uint64_t *filled = calloc(boxes->count, sizeof(*filled));
	uint64_t *before = calloc(boxes->count, sizeof(*before));

	assert_non_null(filled);
	assert_non_null(before);
	assert_true(boxes->count <= count_max);
	assert_int_equal(boxes->items[0].begin, 0);
	for (size_t i = 1; i < boxes->count; i++) {
		const struct box *box = &boxes->items[i], *parent = &boxes->items[box->parent];

		assert_true(box->parent < i);
		assert_int_equal(box->depth, parent->depth + 1);
		assert_int_equal(box->begin, parent->begin + filled[box->parent]);
		assert_true(box->value > 0);
		if (box->node != TREE_NONE && before[box->parent] > 0)
			assert_true(box->value <= before[box->parent]);
		before[box->parent] = box->node == TREE_NONE ? 0 : box->value;
		filled[box->parent] += box->value;
	}
	for (size_t i = 0; i < boxes->count; i++) {
		if (boxes->items[i].node != TREE_NONE)
			assert_int_equal(filled[i] + boxes->items[i].self, boxes->items[i].value);
	}
	free(filled);
	free(before);
}

static void boxes_add_up_whatever_is_left_out(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t seed = 1; seed <= 5; seed++) {
		grow_random(&fixture->model, seed, 2000);
		for (unsigned variant = 0; variant < 8; variant++) {
			fixture->settings.direction = variant & 1;
			fixture->settings.share_min = variant & 2 ? 100 : 0;
			fixture->settings.merges_recursion = variant & 4;
			make(fixture, 40000);
			check_boxes(&fixture->boxes, 40000);
			make(fixture, 64);
			check_boxes(&fixture->boxes, 66);
		}
	}
}

static void an_empty_tree_is_one_box(void **state)
{
	struct fixture *fixture = *state;

	make(fixture, 10);
	expect(fixture, "0:all=0@0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(siblings_lie_side_by_side_the_largest_first, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_too_small_is_one_box_more, setup, teardown),
		cmocka_unit_test_setup_teardown(a_path_leads_to_what_is_enlarged, setup, teardown),
		cmocka_unit_test_setup_teardown(a_path_goes_up_as_well, setup, teardown),
		cmocka_unit_test_setup_teardown(recursion_can_be_one_box, setup, teardown),
		cmocka_unit_test_setup_teardown(boxes_add_up_whatever_is_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(an_empty_tree_is_one_box, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
