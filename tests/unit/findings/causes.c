#include "../test.h"

#include "findings/causes.h"

static const struct finder growth = { .type = "growth", .is_leading = true };
static const struct finder slack = { .type = "slack" };
static const struct finder churn = { .type = "churn", .is_passing = true };
static const struct finder quick = { .type = "churn", .is_passing = true, .better = "per_call" };
static const struct finder per_call = { .type = "per_call", .is_passing = true };
static const struct finder misplaced = { .type = "misplaced", .is_apart = true };
static const struct finder double_free = { .type = "double_free" };

enum { HERE = 17, THERE = 18 };

static struct cause_part part(const struct finder *finder, uint32_t name, uint32_t line,
			      uint64_t bytes)
{
	return (struct cause_part) {
		.finding = { .type = finder->type,
			     .bytes = bytes,
			     .rank = finder->is_passing ? bytes / FINDING_PASSED_WEIGHT : bytes,
			     .is_serious = !finder->is_passing },
		.place = { name, line },
		.finder = finder,
	};
}

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct arena));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	arena_deinit(*state);
	free(*state);
	return 0;
}

static const struct finding *join(void **state, struct cause_part *parts, size_t count,
				  size_t *count_ret)
{
	struct finding *causes = NULL;

	assert_null(causes_join(parts, count, *state, &causes, count_ret));
	return causes;
}

static void findings_of_a_line_are_one(void **state)
{
	struct cause_part parts[] = {
		part(&slack, HERE, 12, 3000),
		part(&churn, THERE, 12, 4000),
		part(&growth, HERE, 12, 2000),
		part(&slack, HERE, 13, 900),
	};
	size_t count;
	const struct finding *causes = join(state, parts, array_size(parts), &count);

	assert_int_equal(count, 3);
	assert_string_equal(causes[0].type, "growth");
	assert_int_equal(causes[0].also_count, 1);
	assert_string_equal(causes[0].also[0].type, "slack");
	assert_int_equal(causes[0].also[0].also_count, 0);
	assert_string_equal(causes[1].type, "slack");
	assert_int_equal(causes[1].also_count, 0);
	assert_string_equal(causes[2].type, "churn");
}

static void what_is_at_stake_is_counted_once(void **state)
{
	struct cause_part parts[] = {
		part(&slack, HERE, 12, 3000),
		part(&growth, HERE, 12, 2000),
		part(&churn, HERE, 12, 5000),
		part(&churn, THERE, 1, 700),
	};
	size_t count;
	const struct finding *causes = join(state, parts, array_size(parts), &count);

	assert_int_equal(count, 2);
	assert_int_equal(causes[0].bytes, 2000);
	assert_int_equal(causes[0].stake_bytes, 3000); /* churn only passed through */
	assert_int_equal(causes[0].rank, 3000);
	assert_int_equal(causes[1].stake_bytes, 700);
}

static void the_strongest_leads(void **state)
{
	struct cause_part parts[] = {
		part(&churn, HERE, 12, 5000),
		part(&slack, HERE, 12, 300),
		part(&growth, HERE, 12, 20),
		part(&double_free, HERE, 12, 1),
	};
	static const char *const order[] = { "churn", "slack" };
	size_t count;
	const struct finding *causes;

	parts[3].finding.rank = FINDING_ERROR_RANK;
	causes = join(state, parts, array_size(parts), &count);
	assert_int_equal(count, 2);
	assert_string_equal(causes[0].type, "double_free"); /* a mistake of its own */
	assert_int_equal(causes[0].also_count, 0);
	assert_string_equal(causes[1].type, "growth");
	assert_int_equal(causes[1].also_count, array_size(order));
	for (size_t i = 0; i < array_size(order); i++)
		assert_string_equal(causes[1].also[i].type, order[i]);
}

static void what_says_the_same_in_more_detail_leads(void **state)
{
	struct cause_part parts[] = {
		part(&quick, HERE, 12, 5000),	 part(&slack, HERE, 12, 200),
		part(&per_call, HERE, 12, 1600), part(&slack, THERE, 12, 3000),
		part(&quick, THERE, 12, 5000),	 part(&per_call, THERE, 12, 1600),
	};
	static const char *const order[] = { "churn", "slack" };
	size_t count;
	const struct finding *causes = join(state, parts, array_size(parts), &count);

	assert_int_equal(count, 2);
	assert_string_equal(causes[0].type, "per_call");
	assert_int_equal(causes[0].also_count, array_size(order));
	for (size_t i = 0; i < array_size(order); i++)
		assert_string_equal(causes[0].also[i].type, order[i]);
	assert_string_equal(causes[1].type, "slack"); /* churn did not lead there */
	assert_string_equal(causes[1].also[0].type, "churn");
}

static void a_cause_is_as_serious_as_its_most_serious_part(void **state)
{
	struct cause_part parts[] = {
		part(&churn, HERE, 12, 500000),
		part(&slack, HERE, 12, 300),
		part(&churn, THERE, 12, 5000),
	};
	size_t count;
	const struct finding *causes = join(state, parts, array_size(parts), &count);

	assert_int_equal(count, 2);
	assert_string_equal(causes[0].type, "churn");
	assert_true(causes[0].is_serious);
	assert_false(causes[1].is_serious);
}

static void what_has_no_line_for_a_cause_stays_alone(void **state)
{
	struct cause_part parts[] = {
		part(&slack, NAME_NO_STACK, 0, 3000),
		part(&growth, NAME_NO_STACK, 0, 2000),
		part(&growth, NAME_TRUNCATED, 0, 2000),
		part(&growth, HERE, 0, 2000),
		part(&slack, HERE, 0, 2000),
		part(&misplaced, HERE, 0, 2000),
	};
	size_t count;
	const struct finding *causes = join(state, parts, array_size(parts), &count);

	assert_int_equal(count, 5);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(causes[i].also_count, 0);
	assert_int_equal(causes[4].also_count, 1); /* a function without lines */
}

static void nothing_has_no_cause(void **state)
{
	size_t count = 1;

	join(state, NULL, 0, &count);
	assert_int_equal(count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(findings_of_a_line_are_one, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_at_stake_is_counted_once, setup, teardown),
		cmocka_unit_test_setup_teardown(the_strongest_leads, setup, teardown),
		cmocka_unit_test_setup_teardown(what_says_the_same_in_more_detail_leads, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_cause_is_as_serious_as_its_most_serious_part,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_has_no_line_for_a_cause_stays_alone, setup,
						teardown),
		cmocka_unit_test_setup_teardown(nothing_has_no_cause, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
