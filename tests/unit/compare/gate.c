#include "../test.h"

#include "compare/gate.h"

static void conditions_are_metrics_and_limits(void **state)
{
	struct gate gate;

	(void)state;
	assert_null(
		gate_parse("peak>5%,leaked>0,allocated>1.5MiB,count>1000,temporary>0.125%", &gate));
	assert_int_equal(gate.count, 5);
	assert_int_equal(gate.conditions[0].metric, METRIC_PEAK);
	assert_true(gate.conditions[0].is_percent);
	assert_int_equal(gate.conditions[0].limit, 5000);
	assert_int_equal(gate.conditions[1].limit, 0);
	assert_false(gate.conditions[1].is_percent);
	assert_int_equal(gate.conditions[2].limit, 3 << 19);
	assert_int_equal(gate.conditions[3].limit, 1000);
	assert_int_equal(gate.conditions[4].limit, 125);
	assert_int_equal(gate.conditions[4].text_len, strlen("temporary>0.125%"));
}

static void what_is_no_condition_is_refused(void **state)
{
	static const char *const rows[] = {
		"",
		"peak",
		"peak>",
		"peak>%",
		"peak>5%%",
		"peak>5%,",
		",peak>5%",
		"peak>-1",
		"peak>5 %",
		"Peak>5%",
		"speed>1",
		"count>1KiB",
		"peak<5%",
		"peak>1.2.3%",
		"peak>99999999%",
		"peak>5x",
		"peak>=5%",
		">5%",
		"count>0x10",
		"peak>18446744073709551616",
		"peak>1,peak>1,peak>1,peak>1,peak>1,peak>1,peak>1,peak>1,peak>1,peak>1,peak>1,"
		"peak>1,peak>1,peak>1,peak>1,peak>1,peak>1",
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct gate gate;
		CLEAN(err_destroy) struct err *err = gate_parse(rows[i], &gate);

		if (!err)
			fail_msg("'%s' was taken", rows[i]);
		assert_int_equal(err_code_of(err), ERR_USAGE);
	}
}

static void growth_is_compared_exactly(void **state)
{
	static const struct {
		const char *condition;
		struct gate_value before, after;
		bool is_exceeded;
	} rows[] = {
		{ "peak>5%", { 100, 1 }, { 105, 1 }, false },
		{ "peak>5%", { 100, 1 }, { 106, 1 }, true },
		{ "peak>5%", { 100, 1 }, { 50, 1 }, false },
		{ "peak>5%", { 0, 1 }, { 0, 1 }, false },
		{ "peak>5%", { 0, 1 }, { 1, 1 }, true },
		{ "peak>0.001%", { 100000, 1 }, { 100001, 1 }, false },
		{ "peak>0.001%", { 100000, 1 }, { 100002, 1 }, true },
		{ "leaked>0", { 7, 1 }, { 7, 1 }, false },
		{ "leaked>0", { 7, 1 }, { 8, 1 }, true },
		{ "count>2", { 10, 10 }, { 30, 10 }, false },
		{ "count>2", { 10, 10 }, { 31, 10 }, true },
		{ "count>0", { 9, 9 }, { 12, 12 }, false },
		{ "count>0", { 9, 9 }, { 12, 11 }, true },
		{ "count>0%", { 1, 3 }, { 333333333, 999999999 }, false },
		{ "count>0%", { 1, 3 }, { 333333334, 999999999 }, true },
		{ "peak>1000000%", { UINT64_MAX, GATE_UNITS_MAX }, { UINT64_MAX, 1 }, true },
		{ "peak>1000000%", { UINT64_MAX, 1 }, { UINT64_MAX, 1 }, false },
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct gate gate;

		assert_null(gate_parse(rows[i].condition, &gate));
		if (gate_is_exceeded(&gate.conditions[0], rows[i].before, rows[i].after) !=
		    rows[i].is_exceeded)
			fail_msg("row %zu, %s", i, rows[i].condition);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_are_metrics_and_limits),
		cmocka_unit_test(what_is_no_condition_is_refused),
		cmocka_unit_test(growth_is_compared_exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
