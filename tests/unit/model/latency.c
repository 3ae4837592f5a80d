#include "../test.h"

#include "model/latency.h"

static void buckets_follow_each_other_without_gaps(void **state)
{
	(void)state;
	for (size_t i = 0; i + 1 < MODEL_LATENCY_BUCKETS; i++) {
		const uint64_t begin = latency_bucket_begin(i), end = latency_bucket_begin(i + 1);

		assert_true(begin < end);
		assert_int_equal(latency_bucket(begin), i);
		assert_int_equal(latency_bucket(end - 1), i);
		assert_true(begin < 16 || (end - begin) * 16 <= begin);
	}
	assert_int_equal(latency_bucket(UINT64_MAX), MODEL_LATENCY_BUCKETS - 1);
}

static void percentiles_are_right_to_a_sixteenth(void **state)
{
	static const unsigned percents[] = { 1, 50, 90, 99, 100 };
	struct model_latency latency = { 0 };

	(void)state;
	for (uint64_t value = 1; value <= 10000; value++)
		latency_add(&latency, value);
	assert_int_equal(latency.count, 10000);
	assert_int_equal(latency.total_ns, 10000 * 10001 / 2);
	assert_int_equal(latency.max_ns, 10000);
	for (size_t i = 0; i < array_size(percents); i++) {
		const uint64_t right = percents[i] * UINT64_C(100);
		const uint64_t got = latency_percentile(&latency, percents[i]);

		assert_in_range(got, right - right / 16 - 1, right + right / 16 + 1);
	}
}

static void a_rare_long_call_is_the_largest_and_no_percentile(void **state)
{
	struct model_latency latency = { 0 }, sum = { 0 };

	(void)state;
	assert_int_equal(latency_percentile(&latency, 50), 0);
	for (int i = 0; i < 999; i++)
		latency_add(&latency, 7);
	latency_add(&latency, 2000000);
	latency_merge(&sum, &latency);
	latency_merge(&sum, &latency);
	assert_int_equal(sum.count, 2000);
	assert_int_equal(sum.max_ns, 2000000);
	assert_int_equal(latency_percentile(&sum, 99), 7);
	assert_in_range(latency_percentile(&sum, 100), 1900000, 2000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_follow_each_other_without_gaps),
		cmocka_unit_test(percentiles_are_right_to_a_sixteenth),
		cmocka_unit_test(a_rare_long_call_is_the_largest_and_no_percentile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
