/* When most was alive, and whose it was, against the same counted row by row. */
#include "../random_tape.h"

#include "time/course.h"

enum { SMALL = 4000, BIG = 200000, COLUMNS = 50 };

static void check_window(const struct random_tape *tape, uint64_t from, uint64_t until,
			 size_t count)
{
	struct model_timeline_span spans[COLUMNS];
	struct model_peak peaks[COLUMNS];

	model_timeline_window(tape->model, from, until, count, spans);
	model_timeline_peaks(tape->model, from, until, count, peaks);
	for (size_t i = 0; i < count; i++) {
		const uint64_t end = i + 1 < count ? spans[i + 1].begin_ns : until;
		uint64_t bytes = 0;

		assert_true(peaks[i].bytes <= spans[i].live_bytes_max);
		assert_true(peaks[i].gone_ns < end || end == 0);
		for (uint64_t row = 0; row < model_row_count(tape->model); row++) {
			const struct tape_row at = tape_row(tape, row);

			bytes += row < peaks[i].row_count ? at.values[MODEL_SIZE] : 0;
			bytes -= at.values[MODEL_FREE_NS] <= peaks[i].gone_ns
					 ? at.values[MODEL_SIZE]
					 : 0;
		}
		assert_int_equal(peaks[i].bytes, bytes);
	}
}

static void the_most_was_alive_when_it_is_said(void **state)
{
	struct random_tape tape;
	uint64_t end_ns;

	(void)state;
	tape_make(&tape, 1, SMALL);
	end_ns = model_process(tape.model)->duration_ns;
	check_window(&tape, 0, end_ns + 1, COLUMNS);
	check_window(&tape, 0, end_ns + 1, 1);
	check_window(&tape, end_ns / 3, end_ns / 2, 7);
	check_window(&tape, end_ns / 3, end_ns / 3 + 20, 20);
	tape_unmake(&tape);
}

/*
 * Nearly always: of events of one nanosecond the order on the tape counts in spans, but not here.
 */
static void it_is_as_much_as_the_spans_have(void **state)
{
	struct random_tape tape;
	struct model_timeline_span spans[COLUMNS];
	struct model_peak peaks[COLUMNS];
	unsigned equal_count = 0;

	(void)state;
	tape_make(&tape, 2, BIG);
	model_timeline_window(tape.model, 0, model_process(tape.model)->duration_ns, COLUMNS,
			      spans);
	model_timeline_peaks(tape.model, 0, model_process(tape.model)->duration_ns, COLUMNS, peaks);
	for (size_t i = 0; i < COLUMNS; i++) {
		assert_true(peaks[i].bytes <= spans[i].live_bytes_max);
		equal_count += peaks[i].bytes == spans[i].live_bytes_max;
	}
	assert_true(equal_count > COLUMNS / 2);
	tape_unmake(&tape);
}

static void bands_are_what_was_alive_then(void **state)
{
	static const enum group_by ways[] = { GROUP_BY_FUNCTION, GROUP_BY_THREAD, GROUP_BY_SIZE,
					      GROUP_BY_LIFETIME };
	const struct selection *selection;
	struct random_tape tape;
	struct model_peak peaks[COLUMNS];

	(void)state;
	tape_make(&tape, 3, BIG);
	assert_null(selection_make(tape.model, tape.names, &(struct selection_settings) { 0 },
				   &tape.arena, &selection));
	for (size_t way = 0; way < array_size(ways); way++) {
		const struct course_settings settings = {
			.from_ns = 1000,
			.until_ns = model_process(tape.model)->duration_ns / 4 * 3,
			.column_count = COLUMNS,
			.has_bands = true,
			.by = ways[way],
			.top = 2,
		};
		struct course course = { 0 }, slow;

		model_timeline_peaks(tape.model, settings.from_ns, settings.until_ns, COLUMNS,
				     peaks);
		assert_null(course_bands_at(selection, &settings, peaks, &tape.arena, &course));
		assert_null(course_find(selection, &settings, &tape.arena, &slow));
		assert_int_equal(course.band_count, 3);
		for (size_t i = 0; i < COLUMNS; i++) {
			uint64_t sum = 0;

			for (size_t band = 0; band < course.band_count; band++)
				sum += course.bands[i * course.band_count + band];
			assert_int_equal(sum, peaks[i].bytes);
			for (size_t band = 0;
			     band < course.band_count && sum == slow.columns[i].live_max; band++) {
				assert_string_equal(course.band_titles[band],
						    slow.band_titles[band]);
				assert_int_equal(course.bands[i * course.band_count + band],
						 slow.bands[i * course.band_count + band]);
			}
		}
	}
	tape_unmake(&tape);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_most_was_alive_when_it_is_said),
		cmocka_unit_test(it_is_as_much_as_the_spans_have),
		cmocka_unit_test(bands_are_what_was_alive_then),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
