/* Every metric at once is what each of them is by itself, of a part of the stacks. */
#include "../random_tape.h"

#include "groups/measure.h"

enum { MANY = 60000 };

/* Three parts of very different stacks. */
static uint8_t *parts_make(const struct model *model)
{
	uint8_t *part_of = calloc(model_stack_count(model), 1);

	assert_non_null(part_of);
	for (size_t i = 0; i < model_stack_count(model); i++)
		part_of[i] = (uint8_t)(i * 7 % 5 % MEASURE_PARTS);
	return part_of;
}

static void check(struct random_tape *tape, const struct selection *selection, uint64_t at_ns,
		  const uint8_t *part_of)
{
	uint64_t values[METRICS_NAMED][MEASURE_PARTS];

	assert_null(
		measure_split(selection, &(struct measure) { .at_ns = at_ns }, part_of, values));
	for (unsigned i = 0; i < METRICS_NAMED; i++) {
		uint64_t expected[MEASURE_PARTS] = { 0 };
		struct sums sums;

		const struct measure measure = { .metric = (enum metric)i, .at_ns = at_ns };

		if (i == METRIC_RETAINED ||
		    metric_is_seen(i)) { /* no leak scan, no looks, no events */
			struct err *err = measure_sums(selection, &measure, &tape->arena, &sums);

			assert_int_equal(err_code_of(err), ERR_NOT_FOUND);
			err_destroy(err);
			assert_memory_equal(values[i], expected, sizeof(expected));
			continue;
		}
		assert_null(measure_sums(selection, &measure, &tape->arena, &sums));
		for (size_t k = 0; k < model_stack_count(tape->model); k++)
			expected[part_of[k]] +=
				metric_value((enum metric)i, sums_of_stack(&sums, k));
		assert_memory_equal(values[i], expected, sizeof(expected));
		assert_int_equal(expected[0] + expected[1] + expected[2],
				 metric_value((enum metric)i, &sums.total));
	}
}

static void at_once_is_the_same_as_one_by_one(void **state)
{
	static const struct selection_settings settings[] = {
		{ .filter = NULL },
		{ .filter = "size >= 100" },
		{ .filter = "size > 100000000" },
		{ .filter = "thread = 2", .from = "20%", .until = "70%" },
	};
	struct random_tape tape;
	uint8_t *part_of;

	(void)state;
	tape_make(&tape, 21, MANY);
	part_of = parts_make(tape.model);
	for (size_t i = 0; i < array_size(settings); i++) {
		const uint64_t end_ns = model_process(tape.model)->duration_ns;
		const uint64_t moments_ns[] = { 0, end_ns / 3, end_ns, UINT64_MAX };
		const struct selection *selection;

		assert_null(selection_make(tape.model, tape.names, &settings[i], &tape.arena,
					   &selection));
		for (size_t k = 0; k < array_size(moments_ns); k++)
			check(&tape, selection, moments_ns[k], part_of);
	}
	free(part_of);
	tape_unmake(&tape);
}

static void it_ends_when_it_is_cancelled(void **state)
{
	static const bool cancel = true;
	const struct selection *selection;
	uint64_t values[METRICS_NAMED][MEASURE_PARTS];
	struct random_tape tape;
	uint8_t *part_of;
	struct err *err;

	(void)state;
	tape_make(&tape, 22, MANY);
	part_of = parts_make(tape.model);
	assert_null(selection_make(tape.model, tape.names,
				   &(struct selection_settings) { .filter = "size >= 100" },
				   &tape.arena, &selection));
	((struct selection *)selection)->limits.cancel = &cancel;
	err = measure_split(selection, &(struct measure) { 0 }, part_of, values);
	assert_non_null(err);
	assert_int_equal(err_code_of(err), ERR_STATE);
	err_destroy(err);
	free(part_of);
	tape_unmake(&tape);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_once_is_the_same_as_one_by_one),
		cmocka_unit_test(it_ends_when_it_is_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
