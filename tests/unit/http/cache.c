/* What was answered is kept within its bounds, and what nobody asks for goes first. */
#include "../test.h"

#include <pthread.h>

#include "http/cache.h"

static const char type[] = "text/plain";

static void put(struct cache *cache, const char *key, size_t bytes)
{
	char *text = calloc(1, bytes);
	struct blob *blob;

	assert_non_null(text);
	memset(text, key[0], bytes);
	blob = blob_create(text, bytes);
	assert_non_null(blob);
	cache_put(cache, key, blob, type);
	blob_put(blob);
}

static bool has(struct cache *cache, const char *key)
{
	const char *found = NULL;
	struct blob *blob = cache_get(cache, key, &found);

	if (!blob)
		return false;
	assert_ptr_equal(found, type);
	assert_int_equal(blob->bytes[0], key[0]);
	blob_put(blob);
	return true;
}

static void what_was_put_is_found(void **state)
{
	CLEAN(cache_destroy) struct cache *cache = cache_create(1 << 20);

	(void)state;
	assert_false(has(cache, "a"));
	put(cache, "a", 10);
	put(cache, "b", 20);
	assert_true(has(cache, "a"));
	assert_true(has(cache, "b"));
	assert_false(has(cache, "ab"));
	put(cache, "a", 10); /* twice is once */
	assert_true(cache_bytes(cache) < 400);
}

static void what_is_not_asked_for_goes_first(void **state)
{
	CLEAN(cache_destroy) struct cache *cache = cache_create(10000);

	(void)state;
	put(cache, "a", 2000);
	put(cache, "b", 2000);
	put(cache, "c", 2000);
	put(cache, "d", 2000);
	assert_true(has(cache, "a"));
	put(cache, "e", 2000);
	assert_true(has(cache, "a"));
	assert_false(has(cache, "b"));
	assert_true(has(cache, "c"));
	assert_true(has(cache, "e"));
}

static void bounds_hold(void **state)
{
	CLEAN(cache_destroy) struct cache *cache = cache_create(100000);
	char key[20];

	(void)state;
	for (int i = 0; i < 5000; i++) {
		snprintf(key, sizeof(key), "%d", i);
		put(cache, key, (size_t)(i * 7919) % 24000);
		assert_true(cache_bytes(cache) <= 100000);
	}
	assert_true(cache_bytes(cache) > 50000);
	put(cache, "large", 25001);
	assert_false(has(cache, "large"));
}

static void a_cache_of_nothing_keeps_nothing(void **state)
{
	CLEAN(cache_destroy) struct cache *cache = cache_create(0);

	(void)state;
	put(cache, "a", 1);
	assert_false(has(cache, "a"));
	assert_int_equal(cache_bytes(cache), 0);
}

static void *churn(void *context)
{
	char key[20];

	for (int i = 0; i < 3000; i++) {
		snprintf(key, sizeof(key), "%d", i % 40);
		if (!has(context, key))
			put(context, key, 300);
	}
	return NULL;
}

static void threads_may_share_it(void **state)
{
	CLEAN(cache_destroy) struct cache *cache = cache_create(5000);
	pthread_t threads[4];

	(void)state;
	for (size_t i = 0; i < array_size(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, churn, cache), 0);
	for (size_t i = 0; i < array_size(threads); i++)
		pthread_join(threads[i], NULL);
	assert_true(cache_bytes(cache) <= 5000);
}

static void an_answer_outlives_its_place(void **state)
{
	CLEAN(cache_destroy) struct cache *cache = cache_create(2000);
	const char *found;
	struct blob *blob;

	(void)state;
	put(cache, "a", 200);
	blob = cache_get(cache, "a", &found);
	assert_non_null(blob);
	for (char key[] = "b"; key[0] <= 'z'; key[0]++)
		put(cache, key, 200);
	assert_false(has(cache, "a"));
	assert_int_equal(blob->bytes[199], 'a');
	blob_put(blob);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_is_found),
		cmocka_unit_test(what_is_not_asked_for_goes_first),
		cmocka_unit_test(bounds_hold),
		cmocka_unit_test(a_cache_of_nothing_keeps_nothing),
		cmocka_unit_test(threads_may_share_it),
		cmocka_unit_test(an_answer_outlives_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
