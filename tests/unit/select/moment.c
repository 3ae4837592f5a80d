#include "../test.h"

#include <string.h>

#include "select/mark.h"
#include "select/moment.h"

struct model {
	struct model_process process;
	struct model_totals totals;
};

const struct model_process *model_process(const struct model *model)
{
	return &model->process;
}

const struct model_totals *model_totals(const struct model *model)
{
	return &model->totals;
}

enum { DURATION_NS = 80000000, PEAK_NS = 3000 };

static const struct model_note notes[] = {
	{ .ns = 7, .type = TAPE_EXT_DLOPEN, .text = "loaded" },
	{ .ns = 500, .type = TAPE_EXT_MARK, .text = "loaded" },
	{ .ns = 900, .type = TAPE_EXT_MARK, .text = "loaded" },
	{ .ns = 950, .type = TAPE_EXT_MARK, .text = "" },
	{ .ns = 960, .type = TAPE_EXT_MARK, .text = "step#2" },
	{ .ns = 970, .type = TAPE_EXT_MARK, .text = "step" },
	{ .ns = 970, .type = TAPE_EXT_DLOPEN, .text = "step" },
	{ .ns = 980, .type = TAPE_EXT_MARK, .text = "step" },
};

size_t model_note_count(const struct model *model)
{
	(void)model;
	return array_size(notes);
}

const struct model_note *model_notes(const struct model *model)
{
	(void)model;
	return notes;
}

static struct model a_model(void)
{
	return (struct model) { .process = { .duration_ns = DURATION_NS },
				.totals = { .peak_ns = PEAK_NS } };
}

static void moments_are_times_percents_and_words(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} rows[] = {
		{ "1.5s", 1500000000 },
		{ "20ms", 20000000 },
		{ "3", 3000000000 },
		{ "50%", 40000000 },
		{ "12.5%", 10000000 },
		{ "0.001%", 800 },
		{ "0%", 0 },
		{ "100%", DURATION_NS },
		{ "start", 0 },
		{ "end", DURATION_NS },
		{ "peak", PEAK_NS },
		{ "mark(loaded)", 500 },
		{ "mark(loaded#1)", 500 },
		{ "mark(loaded#2)", 900 },
		{ "mark(loaded#-1)", 900 },
		{ "mark(loaded#-2)", 500 },
		{ "mark(#1)", 500 },
		{ "mark(#3)", 950 },
		{ "mark(#-1)", 980 },
		{ "mark(step)", 970 },
		{ "mark(step#2)", 960 }, /* a whole name comes first */
		{ "mark(step#-1)", 980 },
	};
	const struct model model = a_model();

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct moment moment;
		uint64_t ns = 0;

		assert_null(moment_parse(rows[i].text, &moment));
		assert_null(moment_until_ns(&moment, &model, &ns));
		if (ns != rows[i].ns)
			fail_msg("%s: %llu", rows[i].text, (unsigned long long)ns);
	}
}

/* A hundredth and a millisecond more are what rounding makes of the end. */
static void a_moment_after_the_end_is_refused(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t ns;
	} rows[] = {
		{ "80ms", true, DURATION_NS },
		{ "81ms", true, DURATION_NS },
		{ "81.8ms", true, DURATION_NS },
		{ "81.801ms", false, 0 },
		{ "1.5s", false, 0 },
		{ "79ms", true, 79000000 },
	};
	const struct model model = a_model();

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct moment moment;
		uint64_t ns = 0;

		assert_null(moment_parse(rows[i].text, &moment));

		CLEAN(err_destroy) struct err *err = moment_ns(&moment, &model, &ns);

		if (!err != rows[i].ok || ns != rows[i].ns)
			fail_msg("%s: %llu", rows[i].text, (unsigned long long)ns);
	}
}

static void what_is_no_moment_is_refused(void **state)
{
	static const char *const rows[] = {
		"",	  "%",	    "noon",   "5%%",  "100.001%", "1..2",
		"-1s",	  "mark()", "mark(x", "ends", "1e3",	  "99999999999999999999s",
		"1.2.3%", " 1s",    "0x10",
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct moment moment;
		CLEAN(err_destroy) struct err *err = moment_parse(rows[i], &moment);

		if (!err)
			fail_msg("'%s' was taken", rows[i]);
		assert_int_equal(err_code_of(err), ERR_USAGE);
	}
}

static void a_mark_that_is_not_there_is_told(void **state)
{
	const struct model model = a_model();
	CLEAN(err_destroy) struct err *err = NULL;
	struct moment moment;
	uint64_t ns = 17;

	(void)state;
	assert_null(moment_parse("mark(load)", &moment));
	err = moment_ns(&moment, &model, &ns);
	assert_int_equal(err_code_of(err), ERR_NOT_FOUND);
	assert_non_null(strstr(err_message(err), "load"));
	assert_int_equal(ns, 17);
}

static void a_number_of_a_mark_that_is_not_there_is_told(void **state)
{
	static const char *const rows[] = {
		"mark(loaded#3)",  "mark(loaded#-3)", "mark(loaded#0)",
		"mark(loaded#)",   "mark(loaded#-)",  "mark(#9)",
		"mark(loaded#1x)", "mark(#)",	      "mark(loaded#99999999999999999999)"
	};
	const struct model model = a_model();

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct moment moment;
		uint64_t ns;

		assert_null(moment_parse(rows[i], &moment));

		CLEAN(err_destroy) struct err *err = moment_ns(&moment, &model, &ns);

		if (!err || err_code_of(err) != ERR_NOT_FOUND)
			fail_msg("'%s' was found", rows[i]);
	}
}

/* Whatever other marks are called. */
static void each_mark_is_found_by_what_is_said_of_it(void **state)
{
	const struct model model = a_model();
	CLEAN(arena_deinit) struct arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < array_size(notes); i++) {
		struct moment moment;
		const char *text;
		uint64_t ns = 0;

		if (notes[i].type != TAPE_EXT_MARK)
			continue;
		text = mark_moment(&model, &notes[i], &arena);
		assert_null(moment_parse(text, &moment));
		assert_null(moment_ns(&moment, &model, &ns));
		if (ns != notes[i].ns)
			fail_msg("%s: %llu", text, (unsigned long long)ns);
	}
}

static void spans_are_open_where_nothing_is_said(void **state)
{
	static const struct {
		const char *text;
		uint64_t from, until;
	} rows[] = {
		{ "..", 0, DURATION_NS },
		{ "10ms..", 10000000, DURATION_NS },
		{ "..25%", 0, 20000000 },
		{ "0.5ms..1.5ms", 500000, 1500000 },
	};
	const struct model model = a_model();

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct moment_span span;
		uint64_t from = 1, until = 1;

		assert_null(moment_span_parse(rows[i].text, &span));
		assert_null(moment_span_ns(&span, &model, &from, &until));
		assert_int_equal(from, rows[i].from);
		assert_int_equal(until, rows[i].until);
	}
}

static void a_span_does_not_go_backwards(void **state)
{
	const struct model model = a_model();
	CLEAN(err_destroy) struct err *err = NULL;
	struct moment_span span;
	uint64_t from, until;

	(void)state;
	assert_null(moment_span_parse("50%..10ms", &span));
	err = moment_span_ns(&span, &model, &from, &until);
	assert_int_equal(err_code_of(err), ERR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moments_are_times_percents_and_words),
		cmocka_unit_test(a_moment_after_the_end_is_refused),
		cmocka_unit_test(what_is_no_moment_is_refused),
		cmocka_unit_test(a_mark_that_is_not_there_is_told),
		cmocka_unit_test(a_number_of_a_mark_that_is_not_there_is_told),
		cmocka_unit_test(each_mark_is_found_by_what_is_said_of_it),
		cmocka_unit_test(spans_are_open_where_nothing_is_said),
		cmocka_unit_test(a_span_does_not_go_backwards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
