#include "../fake_model.h"

#include "sums/firsts.h"
#include "sums/walk.h"

static const char *const functions[] = {
	"_start", "main", "grow", "std::allocator<int>::allocate(unsigned long)", NULL,
};

enum { START = 1, MAIN, GROW, ALLOCATE };

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

/* The functions of a walk with spaces between them. */
static void expect(struct fixture *fixture, uint32_t stack, enum walk_mode mode,
		   const char *expected)
{
	struct walk walk = walk_begin(&fixture->model, fixture->names, stack, mode);
	const struct name_frame *frame;
	char text[1024] = "";

	while ((frame = walk_next(&walk))) {
		if (text[0])
			strcat(text, " < ");
		strcat(text, names_get(fixture->names, frame->name)->function);
	}
	assert_string_equal(text, expected);
}

static uint32_t whole_stack(struct fixture *fixture, uint32_t root)
{
	uint32_t stack = fake_call(&fixture->model, root, START, 4);

	stack = fake_call(&fixture->model, stack, MAIN, 8);
	stack = fake_call(&fixture->model, stack, GROW, 12);
	return fake_call(&fixture->model, stack, ALLOCATE, 16);
}

static void machinery_at_both_ends_is_folded_away(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t stack = whole_stack(fixture, CAPTURE_STACK_ROOT);

	expect(fixture, stack, WALK_EXACT, "grow < main");
	expect(fixture, stack, WALK_ALL,
	       "std::allocator<int>::allocate(unsigned long) < grow < main < _start");
}

static void a_stack_of_nothing_but_machinery_shows_its_outermost_frame(void **state)
{
	struct fixture *fixture = *state;
	uint32_t stack = fake_call(&fixture->model, CAPTURE_STACK_ROOT, START, 4);

	stack = fake_call(&fixture->model, stack, ALLOCATE, 4);
	expect(fixture, stack, WALK_EXACT, "_start");
}

static void what_was_cut_short_says_so(void **state)
{
	struct fixture *fixture = *state;

	expect(fixture, whole_stack(fixture, CAPTURE_STACK_TRUNCATED), WALK_EXACT,
	       "grow < main < (outer frames not known)");
	expect(fixture, CAPTURE_STACK_NONE, WALK_EXACT, "(no stack taken)");
	expect(fixture, CAPTURE_STACK_ROOT, WALK_ALL, "(no stack taken)");
}

/* The return address of a call at a function's end lies in the next function. */
static void a_return_address_belongs_to_the_call_before_it(void **state)
{
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;
	const uint32_t last = fake_call(model, CAPTURE_STACK_ROOT, MAIN, 0xfff);
	const uint32_t exact = fake_call(model, CAPTURE_STACK_ROOT, MAIN, 0xfff);

	model->stacks[exact].exact = 1;
	expect(fixture, last, WALK_EXACT, "main");
	expect(fixture, exact, WALK_EXACT, "grow");
}

static void recursion_is_one_run(void **state)
{
	struct fixture *fixture = *state;
	uint32_t stack = fake_call(&fixture->model, CAPTURE_STACK_ROOT, MAIN, 4);
	struct walk walk;
	uint64_t count;

	for (unsigned i = 0; i < 1000; i++)
		stack = fake_call(&fixture->model, stack, GROW, 4 + i % 2);
	walk = walk_begin(&fixture->model, fixture->names, stack, WALK_EXACT);
	assert_string_equal(
		names_get(fixture->names, walk_next_run(&walk, true, &count)->name)->function,
		"grow");
	assert_int_equal(count, 1000);
	assert_string_equal(
		names_get(fixture->names, walk_next_run(&walk, true, &count)->name)->function,
		"main");
	assert_int_equal(count, 1);
	assert_null(walk_next_run(&walk, true, &count));
}

static void code_in_no_module_is_an_address(void **state)
{
	struct fixture *fixture = *state;

	expect(fixture, fake_call(&fixture->model, CAPTURE_STACK_ROOT, 0x999, 0x10), WALK_EXACT,
	       "0x999010");
}

/* Of many stacks, in any order: whatever the frames further out, whole or not. */
static void first_frames_are_those_of_walks(void **state)
{
	static const uint32_t roots[] = { CAPTURE_STACK_ROOT, CAPTURE_STACK_TRUNCATED,
					  CAPTURE_STACK_NONE };
	enum { STACKS = 60 };
	struct fixture *fixture = *state;
	uint32_t stacks[STACKS];
	uint64_t random = 7;

	for (size_t i = 0; i < STACKS; i++) {
		const uint64_t drawn = (random = random * 6364136223846793005 + 1) >> 33;
		const uint32_t parent = i < 6 ? roots[i % 3] : stacks[drawn % i];
		const uint32_t function = drawn / STACKS % 8 == 0 ? GROW
					  : drawn / STACKS % 2	  ? ALLOCATE
								  : START;

		stacks[i] = fake_call(&fixture->model, parent, function, 4 * (uint32_t)i);
	}
	for (enum walk_mode mode = WALK_MY; mode <= WALK_ALL; mode++) {
		CLEAN(firsts_deinit) struct firsts firsts = { 0 };

		assert_true(firsts_init(&firsts, &fixture->model, fixture->names, mode));
		for (size_t i = 0; i < 3 * STACKS; i++) {
			const uint32_t stack = i % 4 == 0 ? roots[i % 3] : stacks[i * 37 % STACKS];
			struct walk walk = walk_begin(&fixture->model, fixture->names, stack, mode);

			assert_ptr_equal(firsts_get(&firsts, stack), walk_next(&walk));
		}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(machinery_at_both_ends_is_folded_away),
		TEST(a_stack_of_nothing_but_machinery_shows_its_outermost_frame),
		TEST(what_was_cut_short_says_so),
		TEST(a_return_address_belongs_to_the_call_before_it),
		TEST(recursion_is_one_run),
		TEST(code_in_no_module_is_an_address),
		TEST(first_frames_are_those_of_walks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
