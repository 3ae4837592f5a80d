/* One table says what metrics are called and where they are; whoever spells them out says the same. */
#include "../test.h"

#include "groups/groups.h"
#include "sql/sql_table.h"

extern const struct sql_table sql_groups, sql_functions, sql_threads;

static const struct model_stack_sums sums = {
	.allocated = { 8, 80 },
	.peak = { 4, 40 },
	.leaked = { 2, 20 },
	.temporary = { 3, 30 },
};

static void a_metric_is_found_by_its_key_and_its_words(void **state)
{
	static const struct {
		enum metric metric;
		const char *key, *group_key, *word;
		uint64_t value;
	} rows[] = {
		{ METRIC_PEAK, "peak_bytes", "peak_size", "peak", 40 },
		{ METRIC_LEAKED, "leaked_bytes", "leaked_size", "leaked", 20 },
		{ METRIC_ALLOCATED, "allocated_bytes", "size", "allocated", 80 },
		{ METRIC_COUNT, "allocated_count", "allocated_count", "count", 8 },
		{ METRIC_TEMPORARY, "temporary_count", "temporary_count", "temporary", 3 },
		{ METRIC_LEAKED_COUNT, "leaked_count", "leaked_count", "leaked_count", 2 },
		{ METRIC_TEMPORARY_BYTES, "temporary_bytes", "temporary_size", "temporary_bytes",
		  30 },
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		assert_string_equal(metric_key(rows[i].metric), rows[i].key);
		assert_string_equal(metric_group_key(rows[i].metric), rows[i].group_key);
		assert_string_equal(metric_words_all[rows[i].metric], rows[i].word);
		assert_int_equal(metric_value(rows[i].metric, &sums), rows[i].value);
	}
	assert_string_equal(metric_key(METRIC_PEAK_COUNT), "peak_count");
	assert_int_equal(metric_value(METRIC_PEAK_COUNT, &sums), 4);
}

static void the_words_of_reports_are_the_first_of_all(void **state)
{
	(void)state;
	for (unsigned i = 0; i < METRICS; i++)
		assert_string_equal(metric_words[i], metric_words_all[i]);
	assert_null(metric_words[METRICS]);
	assert_null(metric_words_all[METRICS_NAMED]);
}

/* first: of the columns of sums. */
static void check_columns(const struct sql_table *table, const char *first, const char *prefix)
{
	unsigned column = 0;

	while (strcmp(table->columns[column].name, first) != 0)
		column++;
	for (unsigned i = 0; i < SQL_SUMS; i++, column++) {
		const char *name = table->columns[column].name;
		const bool is_leak = strncmp(metric_key(sql_sums[i]), "leaked", 6) == 0;

		assert_memory_equal(name, prefix, strlen(prefix));
		assert_string_equal(name + strlen(prefix), metric_key(sql_sums[i]));
		assert_int_equal(table->columns[column].flags & SQL_LEAKS, is_leak ? SQL_LEAKS : 0);
	}
}

static void columns_of_sql_are_called_as_metrics_are(void **state)
{
	(void)state;
	check_columns(&sql_groups, "allocated_count", "");
	check_columns(&sql_threads, "allocated_count", "");
	check_columns(&sql_functions, "self_allocated_count", "self_");
	check_columns(&sql_functions, "allocated_count", "");
}

static void groups_have_a_word_for_each_key(void **state)
{
	const struct group group = { .matched.sums = sums };

	(void)state;
	for (unsigned i = 0; i < GROUP_KEYS; i++) {
		struct group_order order;

		assert_null(group_order_parse(group_key_word(i), NULL, &order));
		assert_int_equal(order.key, i);
	}
	assert_int_equal(group_value(&group, GROUP_LEAKED_SIZE, false), 20);
	assert_int_equal(group_value(&group, GROUP_PEAK_COUNT, false), 4);
	assert_int_equal(group_key_unit(GROUP_LEAKED_SIZE), GROUP_UNIT_BYTES);
	assert_int_equal(group_key_unit(GROUP_PEAK_COUNT), GROUP_UNIT_COUNT);
	assert_int_equal(group_key_unit(GROUP_INTERVAL), GROUP_UNIT_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_metric_is_found_by_its_key_and_its_words),
		cmocka_unit_test(the_words_of_reports_are_the_first_of_all),
		cmocka_unit_test(columns_of_sql_are_called_as_metrics_are),
		cmocka_unit_test(groups_have_a_word_for_each_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
