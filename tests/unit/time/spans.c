/* Live bytes of a selection over time: side by side the same as one event after the other. */
#include "../random_tape.h"

#include "select/sums_rows.h"
#include "time/course.h"
#include "time/spans.h"

enum { BIG = 200000, SPANS = 50 };

static const char *const filters[] = { "size >= 100", "thread = 2", "size > 100000000",
				       "lifetime < 100ns" };
static const unsigned thread_counts[] = { 1, 2, 7 };

struct window {
	uint64_t from_ns;
	uint64_t until_ns;
	size_t count;
};

static const struct selection *selection_of(struct random_tape *tape, const char *filter,
					    unsigned thread_count, const bool *cancel)
{
	const struct selection *selection;

	assert_null(selection_make(
		tape->model, tape->names,
		&(struct selection_settings) { .filter = filter, .thread_count = thread_count },
		&tape->arena, &selection));
	((struct selection *)selection)->limits.cancel = cancel;
	return selection;
}

/* course_find goes from event to event. */
static void check(struct random_tape *tape, const struct selection *selection,
		  const struct window *window)
{
	const struct course_settings settings = { .from_ns = window->from_ns,
						  .until_ns = window->until_ns,
						  .column_count = window->count };
	struct model_timeline_span spans[SPANS];
	struct course course;

	assert_null(course_find(selection, &settings, &tape->arena, &course));
	assert_null(spans_find(selection, window->from_ns, window->until_ns, window->count, spans));
	for (size_t i = 0; i < window->count; i++) {
		const struct course_column *column = &course.columns[i];

		assert_int_equal(spans[i].begin_ns, column->begin_ns);
		assert_int_equal(spans[i].live_bytes_max, column->live_max);
		assert_int_equal(spans[i].live_bytes_end, column->live_end);
		assert_int_equal(spans[i].live_count_end, column->live_count_end);
		assert_int_equal(spans[i].allocated.count, column->allocated.count);
		assert_int_equal(spans[i].allocated.bytes, column->allocated.bytes);
		assert_int_equal(spans[i].free_count, column->free_count);
	}
}

static void any_number_of_threads_finds_the_same(void **state)
{
	struct random_tape tape;
	uint64_t end_ns;

	(void)state;
	tape_make(&tape, 11, BIG);
	end_ns = model_process(tape.model)->duration_ns;
	for (size_t i = 0; i < array_size(filters) * array_size(thread_counts); i++) {
		const struct selection *selection =
			selection_of(&tape, filters[i % array_size(filters)],
				     thread_counts[i / array_size(filters)], NULL);
		const struct window windows[] = {
			{ 0, end_ns + 1, SPANS },
			{ 0, end_ns + 1, 1 },
			{ end_ns / 3, end_ns / 2, 13 },
			{ end_ns / 3, end_ns / 3 + 20, 20 },
			{ end_ns / 3, end_ns / 3 + 5, 40 }, /* some have no time at all */
			{ end_ns - 5, end_ns + 1000000, 30 },
		};

		for (size_t k = 0; k < array_size(windows); k++)
			check(&tape, selection, &windows[k]);
	}
	tape_unmake(&tape);
}

static void it_ends_when_it_is_cancelled(void **state)
{
	static const bool cancel = true;
	struct model_timeline_span spans[SPANS];
	struct random_tape tape;
	struct err *err;

	(void)state;
	tape_make(&tape, 12, BIG);
	err = spans_find(selection_of(&tape, "size >= 100", 2, &cancel), 0, 1000, SPANS, spans);
	assert_non_null(err);
	assert_int_equal(err_code_of(err), ERR_STATE);
	err_destroy(err);
	tape_unmake(&tape);
}

/* What lets everything through is a selection all the same, and is gone through row by row. */
static void sums_of_a_span_are_those_of_its_rows(void **state)
{
	const struct selection *each;
	struct random_tape tape;
	uint64_t end_ns;

	(void)state;
	tape_make(&tape, 13, BIG);
	end_ns = model_process(tape.model)->duration_ns;
	each = selection_of(&tape, "size >= 0", 1, NULL);
	assert_false(selection_is_all(each));
	for (unsigned i = 0; i < 500; i++) {
		const uint64_t from_ns = end_ns / 600 * i;
		const uint64_t until_ns = i % 7 ? from_ns + end_ns / (1 + i % 5) : UINT64_MAX;
		struct sums cheap, sums;

		assert_null(sums_between(tape.model, NULL, from_ns, until_ns, &tape.arena, &cheap));
		assert_null(sums_between(tape.model, each, from_ns, until_ns, &tape.arena, &sums));
		assert_memory_equal(&cheap.total, &sums.total, sizeof(sums.total));
		for (size_t k = 0; k < model_stack_count(tape.model); k++)
			assert_memory_equal(sums_of_stack(&cheap, k), sums_of_stack(&sums, k),
					    sizeof(sums.total));
	}
	tape_unmake(&tape);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_number_of_threads_finds_the_same),
		cmocka_unit_test(it_ends_when_it_is_cancelled),
		cmocka_unit_test(sums_of_a_span_are_those_of_its_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
