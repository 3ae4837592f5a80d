/*
 * The composer: what is told is what a model of the tape has.
 */
#include "../test.h"

#include "convert/compose.h"
#include "model/import.h"

struct fixture {
	char path[64];
	struct composer *composer;
	struct model *model;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	snprintf(fixture->path, sizeof(fixture->path), "/tmp/memtape-compose-%d.mtape",
		 (int)getpid());
	assert_null(composer_create(fixture->path, true, &fixture->composer));
	composer_source(fixture->composer, "test", "a file");
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	model_destroy(fixture->model);
	composer_destroy(fixture->composer);
	unlink(fixture->path);
	free(fixture);
	return 0;
}

static const struct model_totals *finish(struct fixture *fixture)
{
	struct compose_result result;

	assert_null(composer_finish(fixture->composer, &result));
	assert_null(model_load(fixture->path, MODEL_SUMMARY, &fixture->model));
	assert_int_equal(model_totals(fixture->model)->event_count, result.event_count);
	assert_int_equal(model_damage_count(fixture->model), 0);
	return model_totals(fixture->model);
}

static uint32_t stack_named(struct composer *composer, uint32_t caller, const char *function)
{
	const struct compose_name name = { .function = function };

	return composer_stack(composer, caller,
			      composer_frame(composer, &(struct compose_frame) {
							       .names = &name, .name_count = 1 }));
}

static void equal_things_have_equal_numbers(void **state)
{
	struct fixture *fixture = *state;
	struct composer *composer = fixture->composer;
	const uint32_t a = stack_named(composer, COMPOSE_ROOT, "a");

	assert_int_equal(stack_named(composer, COMPOSE_ROOT, "a"), a);
	assert_int_not_equal(stack_named(composer, COMPOSE_ROOT, "b"), a);
	assert_int_not_equal(stack_named(composer, a, "a"), a);
}

static void sums_add_up_to_the_byte(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t stack = stack_named(fixture->composer, COMPOSE_ROOT, "a");
	const struct model_totals *totals;

	composer_sum(fixture->composer, stack, &(struct compose_sum) { 1000, 100007, 3, 100 });
	totals = finish(fixture);
	assert_int_equal(totals->allocated.count, 1000);
	assert_int_equal(totals->allocated.bytes, 100007);
	assert_int_equal(totals->leaked.count, 3);
	assert_int_equal(totals->leaked.bytes, 100);
	assert_true(totals->peak.bytes < 500); /* what was freed made no peak, */
	assert_int_equal(totals->temporary.count, 0);
}

static void levels_are_what_was_said_last(void **state)
{
	struct fixture *fixture = *state;
	struct composer *composer = fixture->composer;
	const uint32_t a = stack_named(composer, COMPOSE_ROOT, "a");
	const uint32_t b = stack_named(composer, COMPOSE_ROOT, "b");
	const struct model_totals *totals;

	composer_level(composer, a, 0, 500);
	composer_level(composer, b, 2, 100);
	composer_moment(composer);
	composer_time(composer, 1000);
	composer_level(composer, a, 0, 100); /* less, */
	composer_level(composer, b, 3, 900); /* and more: never both at once */
	composer_moment(composer);
	composer_time(composer, 2000);
	composer_level(composer, b, 3, 800); /* a has nothing left */
	composer_moment(composer);
	totals = finish(fixture);
	assert_int_equal(totals->peak.bytes, 1000);
	assert_int_equal(totals->leaked.bytes, 800);
	assert_int_equal(totals->leaked.count, 3);
}

static void of_a_group_the_youngest_goes(void **state)
{
	struct fixture *fixture = *state;
	struct composer *composer = fixture->composer;

	assert_false(composer_gone(composer, 7));
	composer_made(composer, 7, 10, COMPOSE_NO_STACK);
	composer_made(composer, 7, 20, COMPOSE_NO_STACK);
	assert_true(composer_gone(composer, 7));
	assert_int_equal(finish(fixture)->leaked.bytes, 10);
}

static void more_threads_than_chunks_in_memory_are_fine(void **state)
{
	enum { THREADS = 500, ROUNDS = 3 };
	struct fixture *fixture = *state;
	struct composer *composer = fixture->composer;
	const uint32_t stack = stack_named(composer, COMPOSE_ROOT, "a");

	for (uint64_t i = 0; i < ROUNDS * THREADS; i++) {
		composer_thread(composer, (uint32_t)(i % THREADS) + 1, NULL);
		composer_allocated(composer, &(struct compose_block) { .address = 16 + i * 64,
								       .size = 8,
								       .usable = 8,
								       .stack = stack });
		if (i >= THREADS) /* that of another thread's, told right before */
			composer_freed(composer, TAPE_FN_FREE, 16 + (i - 1) * 64, stack);
	}
	assert_int_equal(finish(fixture)->allocated.count, ROUNDS * THREADS);
	assert_int_equal(model_totals(fixture->model)->leaked.count, THREADS);
	assert_int_equal(model_thread_count(fixture->model), THREADS);
}

static void what_is_missing_is_on_the_tape(void **state)
{
	struct fixture *fixture = *state;
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct model_import *import;

	composer_missing(fixture->composer, TAPE_MISSING_TIMES);
	composer_tool(fixture->composer, "tool\n7");
	composer_note(fixture->composer, "a %s", "note");
	composer_made(fixture->composer, 1, 8, COMPOSE_NO_STACK);
	finish(fixture);
	assert_null(model_import_get(fixture->model, &arena, &import));
	assert_non_null(import);
	assert_int_equal(import->missing, TAPE_MISSING_TIMES | TAPE_MISSING_THREADS |
						  TAPE_MISSING_PROCESS | TAPE_MISSING_ADDRESSES);
	assert_string_equal(import->tool, "tool 7");
	assert_string_equal(import->file, "a file");
	assert_int_equal(import->note_count, 1);
	assert_string_equal(import->notes[0], "a note");
}

static void a_stack_too_deep_is_an_error_and_leaves_no_tape(void **state)
{
	struct fixture *fixture = *state;
	uint32_t stack = COMPOSE_ROOT;
	struct compose_result result;
	struct err *err;

	for (int i = 0; i <= COMPOSE_DEPTH_MAX; i++)
		stack = stack_named(fixture->composer, stack, "a");
	assert_true(composer_failed(fixture->composer));
	err = composer_finish(fixture->composer, &result);
	assert_int_equal(err_code_of(err), ERR_LIMIT);
	err_destroy(err);
	composer_destroy(steal(fixture->composer));
	assert_int_not_equal(access(fixture->path, F_OK), 0);
}

static void without_an_event_there_is_no_tape(void **state)
{
	struct fixture *fixture = *state;
	struct compose_result result;
	struct err *err;

	composer_note(fixture->composer, "the file is cut off");
	composer_torn(fixture->composer);
	composer_note(fixture->composer, "something else");
	err = composer_finish(fixture->composer, &result);
	assert_int_equal(err_code_of(err), ERR_FORMAT);
	assert_non_null(strstr(err_message(err), "the file is cut off"));
	err_destroy(err);
	composer_destroy(steal(fixture->composer));
	assert_int_not_equal(access(fixture->path, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(equal_things_have_equal_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(sums_add_up_to_the_byte, setup, teardown),
		cmocka_unit_test_setup_teardown(levels_are_what_was_said_last, setup, teardown),
		cmocka_unit_test_setup_teardown(of_a_group_the_youngest_goes, setup, teardown),
		cmocka_unit_test_setup_teardown(more_threads_than_chunks_in_memory_are_fine, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_missing_is_on_the_tape, setup, teardown),
		cmocka_unit_test_setup_teardown(without_an_event_there_is_no_tape, setup, teardown),
		cmocka_unit_test_setup_teardown(a_stack_too_deep_is_an_error_and_leaves_no_tape,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
