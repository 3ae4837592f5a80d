/* Calls counted as glibc's memusage counts them, from the events of a tape. */
#include "../test.h"

#include "written_tape.h"
#include "model/calls.h"

static struct calls counted(struct writer *writer)
{
	const struct calls_settings settings = { 0 };
	struct calls calls;
	char path[64];

	writer_path(path);
	writer_save(writer, path);
	writer_deinit(writer);
	assert_null(calls_count(path, &settings, &calls));
	unlink(path);
	return calls;
}

static void a_realloc_counts_what_it_adds(void **state)
{
	struct writer writer;
	struct calls calls;

	(void)state;
	writer_init(&writer, TAPE_CHUNK_BYTES_MIN);
	writer_event(&writer, 2, TAPE_FN_MALLOC, WRITER_START_TICKS + 1, 0x1000, 100, 0);
	writer_event(&writer, 2, TAPE_FN_REALLOC_OUT, WRITER_START_TICKS + 2, 0x1000, 0, 0);
	writer_event(&writer, 2, TAPE_FN_REALLOC_IN, WRITER_START_TICKS + 3, 0x2000, 130, 0);
	calls = counted(&writer);
	assert_int_equal(calls.rows[CALLS_REALLOC].calls, 1);
	assert_int_equal(calls.rows[CALLS_REALLOC].bytes, 30);
	assert_int_equal(calls.heap_total, 130);
	assert_int_equal(calls.heap_peak, 130);
}

/* Of a torn stream: what an earlier realloc was about is not its old block. */
static void a_second_half_alone_adds_all_of_its_bytes(void **state)
{
	struct writer writer;
	struct calls calls;

	(void)state;
	writer_init(&writer, TAPE_CHUNK_BYTES_MIN);
	writer_event(&writer, 2, TAPE_FN_MALLOC, WRITER_START_TICKS + 1, 0x1000, 100, 0);
	writer_event(&writer, 2, TAPE_FN_REALLOC_OUT, WRITER_START_TICKS + 2, 0x1000, 0, 0);
	writer_event(&writer, 2, TAPE_FN_REALLOC_IN, WRITER_START_TICKS + 3, 0x1000, 130, 0);
	writer_event(&writer, 2, TAPE_FN_REALLOC_IN, WRITER_START_TICKS + 4, 0x3000, 50, 0);
	calls = counted(&writer);
	assert_int_equal(calls.rows[CALLS_REALLOC].calls, 2);
	assert_int_equal(calls.rows[CALLS_REALLOC].bytes, 80);
	assert_int_equal(calls.realloc_nomove, 1);
	assert_int_equal(calls.realloc_dec, 0);
	assert_int_equal(calls.heap_peak, 180);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_realloc_counts_what_it_adds),
		cmocka_unit_test(a_second_half_alone_adds_all_of_its_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
