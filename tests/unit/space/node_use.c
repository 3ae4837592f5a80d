#include "../test.h"

#include "space/node_use.h"

static void a_line_of_sums_has_all_nodes(void **state)
{
	struct node_look look = { 0 };

	(void)state;
	assert_true(node_sums_parse("0 0 0:1024:2500,3:2:0\n", &look));
	assert_int_equal(look.set, 1 | 1 << 3);
	assert_int_equal(look.bytes[0], 1 << 20);
	assert_int_equal(look.cpu_ns[0], UINT64_C(2500000000));
	assert_int_equal(look.bytes[3], 2048);
	assert_int_equal(look.cpu_ns[3], 0);
}

static void a_line_of_a_mapping_has_its_range(void **state)
{
	struct node_range range;

	(void)state;
	assert_true(node_range_parse("7f0000000000 7f0000200000 1:2048", &range));
	assert_int_equal(range.begin, UINT64_C(0x7f0000000000));
	assert_int_equal(range.end - range.begin, 2 << 20);
	assert_int_equal(range.bytes[0], 0);
	assert_int_equal(range.bytes[1], 2 << 20);
	/* nodes that are too many are left out */
	assert_true(node_range_parse("1000 2000 64:7,2:4,99999999999999999999999:1", &range));
	assert_int_equal(node_bytes_sum(range.bytes), 4096);
}

static void what_is_malformed_is_refused(void **state)
{
	static const char *const lines[] = {
		"",
		"0 0",
		"0 0 1",
		"0 0 1:",
		"0 0 1:2",
		"0 0 1:2:",
		"0 0 :2:3",
		"0 0 a:2:3",
		"1000 2000 1:2:3 x",
		"1000 2000 1",
		"2000 1000 0:4",
		"1000 1000 0:4",
		"x 2000 0:4",
		"1000 2000 0:-4",
		"1000 2000 0:4 1:4",
	};
	struct node_look look = { 0 };
	struct node_range range;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		assert_false(node_sums_parse(lines[i], &look));
		assert_false(node_range_parse(lines[i], &range));
	}
}

static void home_is_where_most_time_was_spent(void **state)
{
	struct node_look look = { .cpu_ns = { 5, 90, 5 } };
	const struct node_look none = { 0 };
	unsigned percent;

	(void)state;
	assert_int_equal(node_look_home(&look, &percent), 1);
	assert_int_equal(percent, 90);
	node_look_home(&none, &percent);
	assert_int_equal(percent, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_of_sums_has_all_nodes),
		cmocka_unit_test(a_line_of_a_mapping_has_its_range),
		cmocka_unit_test(what_is_malformed_is_refused),
		cmocka_unit_test(home_is_where_most_time_was_spent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
