#include "../fake_model.h"

#include "plot/flame.h"
#include "plot/flame_layout.h"

static const char *const functions[] = {
	"main", "<script>alert(1)</script>", "]]>\" onload=\"x", "\001\377bad", "a", "b", NULL,
};

enum { MAIN = 1, SCRIPT, QUOTE, CONTROL, A, B };

struct fixture {
	struct model model;
	struct names *names;
	struct arena arena;
	struct tree tree;
	struct str svg;
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

	str_deinit(&fixture->svg);
	arena_deinit(&fixture->arena);
	names_destroy(fixture->names);
	fake_model_deinit(&fixture->model);
	free(fixture);
	return 0;
}

static void build(struct fixture *fixture)
{
	const struct tree_settings settings = { .metric = METRIC_PEAK };

	const struct sums sums = sums_of_model(&fixture->model);

	assert_null(tree_build(&sums, fixture->names, &settings, &fixture->arena, &fixture->tree));
}

static const char *draw(struct fixture *fixture, bool is_icicle)
{
	const struct flame_settings settings = {
		.title = "Title & <more>",
		.subtitle = "sub \"title\"",
		.is_icicle = is_icicle,
	};

	build(fixture);
	str_clear(&fixture->svg);
	assert_null(flame_svg(&fixture->tree, fixture->names, &settings, &fixture->svg));
	return str_text(&fixture->svg);
}

static size_t count_of(const char *text, const char *word)
{
	size_t count = 0;

	while ((text = strstr(text, word))) {
		count++;
		text += strlen(word);
	}
	return count;
}

/* Names of functions come from strangers' binaries; a browser must see text in them. */
static void hostile_names_stay_text(void **state)
{
	struct fixture *fixture = *state;
	uint32_t stack = fake_call(&fixture->model, CAPTURE_STACK_ROOT, MAIN, 4);
	const char *svg;

	stack = fake_call(&fixture->model, stack, SCRIPT, 4);
	stack = fake_call(&fixture->model, stack, QUOTE, 4);
	stack = fake_call(&fixture->model, stack, CONTROL, 4);
	fake_allocate(&fixture->model, stack, 1, 100, 0);
	svg = draw(fixture, false);
	assert_null(strstr(svg, "<script>alert"));
	assert_null(strstr(svg, "\" onload=\"x"));
	assert_null(strchr(svg, '\001'));
	assert_non_null(strstr(svg, "&lt;script&gt;alert(1)&lt;/script&gt;"));
	assert_non_null(strstr(svg, "Title &amp; &lt;more&gt;"));
	/* Each section of unescaped text (style, script) ends once: names are in neither. */
	assert_int_equal(count_of(svg, "<![CDATA["), 2);
	assert_int_equal(count_of(svg, "]]>"), 2);
}

static void the_file_needs_nothing_else(void **state)
{
	struct fixture *fixture = *state;
	const char *svg;

	fake_allocate(&fixture->model, fake_call(&fixture->model, CAPTURE_STACK_ROOT, MAIN, 4), 1,
		      8, 0);
	svg = draw(fixture, false);
	assert_null(strstr(svg, "href"));
	assert_null(strstr(svg, "@import"));
	assert_null(strstr(svg, "url("));
	assert_null(strstr(svg, "fetch("));
	/* The only addresses are the names of namespaces. */
	assert_int_equal(count_of(svg, "http"), count_of(svg, "\"http://www.w3.org/"));
}

static void an_empty_tape_is_a_picture_too(void **state)
{
	struct fixture *fixture = *state;
	const char *svg = draw(fixture, true);

	assert_non_null(strstr(svg, "</svg>"));
	assert_non_null(strstr(svg, "0 frames drawn"));
}

static void children_stand_side_by_side_within_their_parent(void **state)
{
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;
	const uint32_t main_stack = fake_call(model, CAPTURE_STACK_ROOT, MAIN, 4);
	struct flame_layout layout;

	fake_allocate(model, fake_call(model, main_stack, A, 4), 1, 30, 0);
	fake_allocate(model, fake_call(model, main_stack, B, 4), 1, 60, 0);
	fake_allocate(model, main_stack, 1, 10, 0);
	build(fixture);
	assert_null(flame_layout(&fixture->tree, 100, 100, &fixture->arena, &layout));
	assert_int_equal(layout.count, 4); /* all, main, b, a */
	assert_int_equal(layout.frames[1].value, 100);
	assert_int_equal(layout.frames[2].begin, 0);
	assert_int_equal(layout.frames[2].value, 60);
	assert_int_equal(layout.frames[3].begin, 60);
	assert_int_equal(layout.frames[3].value, 30);
	assert_int_equal(layout.frames[3].parent, 1);
	assert_false(layout.is_cut);
}

static void the_smallest_frames_go_first_when_there_are_too_many(void **state)
{
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;
	const uint32_t main_stack = fake_call(model, CAPTURE_STACK_ROOT, MAIN, 4);
	struct flame_layout layout;

	fake_allocate(model, fake_call(model, main_stack, A, 4), 1, 30, 0);
	fake_allocate(model, fake_call(model, main_stack, B, 4), 1, 60, 0);
	build(fixture);
	assert_null(flame_layout(&fixture->tree, 3, 100, &fixture->arena, &layout));
	assert_int_equal(layout.count, 3);
	assert_int_equal(layout.frames[2].value, 60);
	assert_true(layout.value_min > 30 && layout.value_min <= 60);
}

static void one_frame_is_not_called_frames(void **state)
{
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;

	fake_allocate(model, fake_call(model, CAPTURE_STACK_ROOT, MAIN, 4), 1, 7, 0);
	assert_non_null(strstr(draw(fixture, false), ">1 frame drawn"));
}

static void endless_recursion_is_cut_and_said_to_be(void **state)
{
	struct fixture *fixture = *state;
	uint32_t stack = CAPTURE_STACK_ROOT;
	const char *svg;

	for (unsigned i = 0; i < 10000; i++)
		stack = fake_call(&fixture->model, stack, MAIN, 4);
	fake_allocate(&fixture->model, stack, 1, 7, 0);
	svg = draw(fixture, false);
	assert_non_null(strstr(svg, "512 frames drawn"));
	assert_non_null(strstr(svg, "stacks are cut at 512 frames"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hostile_names_stay_text),
		TEST(the_file_needs_nothing_else),
		TEST(an_empty_tape_is_a_picture_too),
		TEST(children_stand_side_by_side_within_their_parent),
		TEST(the_smallest_frames_go_first_when_there_are_too_many),
		TEST(one_frame_is_not_called_frames),
		TEST(endless_recursion_is_cut_and_said_to_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
