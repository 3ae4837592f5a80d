#include "../fake_model.h"

#include "sums/sites.h"

static const char *const functions[] = {
	"main", "parse", "print", "operator new(unsigned long)", NULL,
};

enum { MAIN = 1, PARSE, PRINT, NEW };

struct fixture {
	struct model model;
	struct names *names;
	struct arena arena;
	uint32_t main_stack;
	struct sums sums;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fake_model_init(&fixture->model, functions);
	fixture->names = names_create(&fixture->model, NULL);
	assert_non_null(fixture->names);
	fixture->main_stack = fake_call(&fixture->model, CAPTURE_STACK_ROOT, MAIN, 0);
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

static struct sites find(struct fixture *fixture, enum walk_mode mode)
{
	struct sites sites;

	fixture->sums = sums_of_model(&fixture->model);
	assert_null(sites_find(&fixture->sums, fixture->names, mode, &fixture->arena, &sites));
	return sites;
}

static const struct site *const *rank(struct fixture *fixture, const struct sites *sites,
				      enum metric metric, size_t top, size_t *count)
{
	const struct site *const *ranked;

	assert_null(sites_rank(sites, metric, top, &fixture->arena, &ranked, count));
	return ranked;
}

static const char *function_of(struct fixture *fixture, const struct site *site)
{
	return names_get(fixture->names, site->name)->function;
}

static void all_stacks_of_a_function_are_one_site(void **state)
{
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;
	const uint32_t early = fake_call(model, fixture->main_stack, PARSE, 8);
	const uint32_t late = fake_call(model, fixture->main_stack, PARSE, 64);
	const uint32_t by_new = fake_call(model, late, NEW, 4);
	struct sites sites;

	fake_allocate(model, early, 1, 100, 0);
	fake_allocate(model, by_new, 2, 100, 1);
	sites = find(fixture, WALK_EXACT);
	assert_int_equal(sites.count, 1);
	assert_string_equal(function_of(fixture, &sites.items[0]), "parse");
	assert_int_equal(sites.items[0].sums.peak.bytes, 300);
	assert_int_equal(sites.items[0].stack_count, 2);
	for (unsigned metric = 0; metric < METRICS_NAMED; metric++) {
		const uint32_t most = sites.items[0].stacks[metric];
		uint64_t value = 0;

		for (size_t i = 0; i < model_stack_count(model); i++)
			value = u64_max(value, metric_value(metric, model_stack_sums(model, i)));
		assert_true(most == early || most == by_new);
		assert_int_equal(metric_value(metric, model_stack_sums(model, most)), value);
	}
	assert_int_equal(sites.items[0].stacks[METRIC_PEAK], by_new);
	assert_int_equal(find(fixture, WALK_ALL).count, 2);
}

static void the_metric_decides_the_order(void **state)
{
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;
	const uint32_t parse = fake_call(model, fixture->main_stack, PARSE, 8);
	const uint32_t print = fake_call(model, fixture->main_stack, PRINT, 8);
	const struct site *const *ranked;
	struct sites sites;
	size_t count;

	fake_allocate(model, parse, 1, 1000, 0);
	fake_allocate(model, print, 20, 10, 1);
	sites = find(fixture, WALK_EXACT);
	ranked = rank(fixture, &sites, METRIC_PEAK, 0, &count);
	assert_int_equal(count, 2);
	assert_string_equal(function_of(fixture, ranked[0]), "parse");
	ranked = rank(fixture, &sites, METRIC_COUNT, 1, &count);
	assert_int_equal(count, 1);
	assert_string_equal(function_of(fixture, ranked[0]), "print");
	ranked = rank(fixture, &sites, METRIC_LEAKED, 0, &count);
	assert_int_equal(count, 1); /* who leaks nothing is not among the leaks */
	assert_string_equal(function_of(fixture, ranked[0]), "print");
}

static void stacks_of_a_site_come_with_the_heaviest_first(void **state)
{
	struct fixture *fixture = *state;
	struct model *model = &fixture->model;
	uint32_t parse[3];
	const uint32_t *stacks;
	struct sites sites;
	size_t count;

	for (unsigned i = 0; i < 3; i++)
		parse[i] = fake_call(model, fixture->main_stack, PARSE, 8 * (i + 1));
	fake_allocate(model, parse[0], 1, 10, 0);
	fake_allocate(model, parse[1], 1, 30, 0);
	fake_allocate(model, parse[2], 1, 20, 0);
	fake_allocate(model, fixture->main_stack, 1, 500, 0);
	sites = find(fixture, WALK_EXACT);
	assert_int_equal(sites.site_of[CAPTURE_STACK_ROOT], UINT32_MAX);
	assert_null(sites_stacks(&sites, &sites.items[sites.site_of[parse[0]]], METRIC_PEAK, 2,
				 &fixture->arena, &stacks, &count));
	assert_int_equal(count, 2);
	assert_int_equal(stacks[0], parse[1]);
	assert_int_equal(stacks[1], parse[2]);
}

static void a_tape_without_allocations_has_no_sites(void **state)
{
	struct fixture *fixture = *state;
	struct sites sites = find(fixture, WALK_EXACT);
	size_t count;

	rank(fixture, &sites, METRIC_PEAK, 10, &count);
	assert_int_equal(count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_stacks_of_a_function_are_one_site),
		TEST(the_metric_decides_the_order),
		TEST(stacks_of_a_site_come_with_the_heaviest_first),
		TEST(a_tape_without_allocations_has_no_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
