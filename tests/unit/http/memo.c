/* Values that are made once, kept within bounds, and never taken from those who hold them. */
#include "../test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/memo.h"

static const struct sweep_limits no_limits;

/* Holds the item; makes its value, so many bytes, when it is new. */
static struct memo_item *hold(struct memo *memo, const char *key, size_t bytes, bool *is_new)
{
	struct memo_item *item;

	assert_null(memo_hold(memo, key, &no_limits, &item, is_new));
	if (*is_new) {
		char *value = arena_alloc(&item->arena, bytes);

		assert_non_null(value);
		memset(value, key[0], bytes);
		memo_done(memo, item, value);
	}
	assert_int_equal(((const char *)item->value)[bytes - 1], key[0]);
	return item;
}

static bool is_kept(struct memo *memo, const char *key, size_t bytes)
{
	bool is_new;

	memo_release(memo, hold(memo, key, bytes, &is_new));
	return !is_new;
}

static void a_value_is_made_once(void **state)
{
	struct memo *memo = memo_create(1 << 20);

	(void)state;
	assert_non_null(memo);
	assert_false(is_kept(memo, "a", 100));
	assert_true(is_kept(memo, "a", 100));
	assert_false(is_kept(memo, "b", 100));
	assert_true(is_kept(memo, "a", 100));
	memo_destroy(memo);
}

static void what_was_used_longest_ago_goes_first(void **state)
{
	const size_t bytes = 100000;
	struct memo *memo = memo_create(3 * bytes + bytes / 2);

	(void)state;
	assert_false(is_kept(memo, "a", bytes));
	assert_false(is_kept(memo, "b", bytes));
	assert_false(is_kept(memo, "c", bytes));
	assert_true(is_kept(memo, "a", bytes));
	assert_false(is_kept(memo, "d", bytes)); /* in place of b */
	assert_true(is_kept(memo, "a", bytes));
	assert_true(is_kept(memo, "c", bytes));
	assert_true(is_kept(memo, "d", bytes));
	assert_false(is_kept(memo, "b", bytes));
	memo_destroy(memo);
}

static void what_is_held_stays(void **state)
{
	const size_t bytes = 100000;
	struct memo *memo = memo_create(bytes / 2);
	bool is_new;
	struct memo_item *held = hold(memo, "a", bytes, &is_new);

	(void)state;
	assert_false(is_kept(memo, "b", bytes));
	assert_false(is_kept(memo, "b", bytes)); /* too large to be kept */
	assert_int_equal(((const char *)held->value)[bytes - 1], 'a');
	assert_true(is_kept(memo, "a", bytes));
	memo_release(memo, held);
	assert_false(is_kept(memo, "a", bytes));
	memo_destroy(memo);
}

static void what_failed_is_tried_again(void **state)
{
	struct memo *memo = memo_create(1 << 20);
	struct memo_item *item;
	bool is_new;

	(void)state;
	assert_null(memo_hold(memo, "a", &no_limits, &item, &is_new));
	assert_true(is_new);
	memo_done(memo, item, NULL);
	memo_release(memo, item);
	assert_false(is_kept(memo, "a", 10));
	assert_true(is_kept(memo, "a", 10));
	memo_destroy(memo);
}

static void who_waits_too_long_is_told(void **state)
{
	const bool cancel = true;
	const struct sweep_limits limits = { .cancel = &cancel };
	struct memo *memo = memo_create(1 << 20);
	struct memo_item *item, *other = NULL;
	bool is_new;
	struct err *err;

	(void)state;
	assert_null(memo_hold(memo, "a", &no_limits, &item, &is_new));
	err = memo_hold(memo, "a", &limits, &other, &is_new);
	assert_int_equal(err_code_of(err), ERR_STATE);
	assert_null(other);
	err_destroy(err);
	memo_done(memo, item, "x");
	memo_release(memo, item);
	memo_destroy(memo);
}

/* --- many threads -------------------------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 300 };

struct crowd {
	struct memo *memo;
	unsigned made_count; /* atomic */
	bool is_slow;
};

static void *one_of_many(void *context)
{
	struct crowd *crowd = context;
	struct memo *memo = crowd->memo;

	for (unsigned i = 0; i < ROUNDS; i++) {
		const char key[] = { (char)('a' + i % 5), '\0' };
		struct memo_item *item;
		bool is_new;

		if (memo_hold(memo, key, &no_limits, &item, &is_new))
			abort();
		if (is_new) {
			char *value = arena_alloc(&item->arena, 1000);

			__atomic_fetch_add(&crowd->made_count, 1, __ATOMIC_RELAXED);
			if (crowd->is_slow)
				usleep(2000);
			value[999] = key[0];
			memo_done(memo, item, i % 7 == 3 && !crowd->is_slow ? NULL : value);
		}
		if (item->value && ((const char *)item->value)[999] != key[0])
			abort();
		memo_release(memo, item);
	}
	return NULL;
}

static unsigned made_by_many(size_t bytes_max, bool is_slow)
{
	struct crowd crowd = { .memo = memo_create(bytes_max), .is_slow = is_slow };
	pthread_t threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, one_of_many, &crowd), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	memo_destroy(crowd.memo);
	return crowd.made_count;
}

static void all_wait_for_the_one_who_makes_it(void **state)
{
	(void)state;
	assert_int_equal(made_by_many(1 << 24, true), 5);
}

static void nobody_sees_a_value_go(void **state)
{
	(void)state;
	assert_true(made_by_many(1, false) > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_is_made_once),
		cmocka_unit_test(what_was_used_longest_ago_goes_first),
		cmocka_unit_test(what_is_held_stays),
		cmocka_unit_test(what_failed_is_tried_again),
		cmocka_unit_test(who_waits_too_long_is_told),
		cmocka_unit_test(all_wait_for_the_one_who_makes_it),
		cmocka_unit_test(nobody_sees_a_value_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
