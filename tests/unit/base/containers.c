/* vec, map, interner, arena and sort. */
#include "../test.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/sort.h"

static uint64_t next(uint64_t *random)
{
	*random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *random >> 24;
}

static void a_map_remembers_what_was_not_removed(void **state)
{
	enum { KEYS = 4000, STEPS = 200000 };
	static uint64_t known[KEYS]; /* value + 1; 0: not there */
	CLEAN(map_deinit) struct map map = { 0 };
	uint64_t random = 1, value;
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < STEPS; i++) {
		uint64_t key = next(&random) % KEYS;
		bool is_new;

		if (next(&random) % 2) {
			*map_put(&map, key, &is_new) = i;
			assert_int_equal(is_new, known[key] == 0);
			count += is_new;
			known[key] = i + 1;
		} else {
			assert_int_equal(map_remove(&map, key, &value), known[key] != 0);
			assert_true(!known[key] || value == known[key] - 1);
			count -= known[key] != 0;
			known[key] = 0;
		}
		assert_int_equal(map.count, count);
	}
	for (uint64_t key = 0; key < KEYS; key++) {
		const uint64_t *found = map_find(&map, key);

		assert_int_equal(found != NULL, known[key] != 0);
		assert_true(!found || *found == known[key] - 1);
	}
}

static void equal_texts_are_interned_once(void **state)
{
	CLEAN(interner_deinit) struct interner interner = { 0 };
	char text[16];

	(void)state;
	for (uint32_t i = 0; i < 5000; i++) {
		int len = snprintf(text, sizeof(text), "name %u", i % 1000);

		assert_int_equal(interner_put(&interner, text, (size_t)len), i % 1000);
	}
	assert_int_equal(interner.count, 1000);
	assert_string_equal(interner.texts[77], "name 77");
	assert_int_equal(interner_find(&interner, "name 5", 6), 5);
	assert_int_equal(interner_find(&interner, "name 5", 4), UINT32_MAX);
	assert_int_equal(interner_put(&interner, "name 5\0junk", 11), 5);
}

static void arena_memory_is_zeroed_aligned_and_apart(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	uint8_t *before = NULL;

	(void)state;
	for (size_t bytes = 0; bytes < 30000; bytes += 1 + bytes / 7) {
		uint8_t *ptr = arena_alloc(&arena, bytes);

		assert_non_null(ptr);
		assert_int_equal((uintptr_t)ptr % 16, 0);
		assert_ptr_not_equal(ptr, before);
		for (size_t i = 0; i < bytes; i++)
			assert_int_equal(ptr[i], 0);
		memset(ptr, 0xaa, bytes);
		before = ptr;
	}
	assert_null(arena_array(&arena, SIZE_MAX / 2, 3));
	assert_null(arena_alloc(&arena, SIZE_MAX));
	assert_string_equal(arena_printf(&arena, "%d %s", 5, "x"), "5 x");
}

struct item {
	uint64_t key;
	uint32_t order;
};

static int compare_items(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct item *)a)->key, ((const struct item *)b)->key);
}

static void sorting_is_stable(void **state)
{
	(void)state;
	for (size_t count = 0; count < 3000; count = count * 2 + 1) {
		struct item *items = calloc(count + 1, sizeof(*items));
		struct sort_pair *pairs = calloc(count + 1, sizeof(*pairs));
		uint64_t random = count + 1;

		for (uint32_t i = 0; i < count; i++) {
			items[i] = (struct item) { next(&random) % 50 << 33, i };
			pairs[i] = (struct sort_pair) { items[i].key, i };
		}
		assert_true(sort_stable(items, count, sizeof(*items), compare_items, NULL));
		assert_true(sort_pairs(pairs, count));
		for (size_t i = 0; i < count; i++) {
			assert_true(i == 0 || items[i - 1].key < items[i].key ||
				    (items[i - 1].key == items[i].key &&
				     items[i - 1].order < items[i].order));
			assert_int_equal(pairs[i].key, items[i].key);
			assert_int_equal(pairs[i].index, items[i].order);
		}
		free(items);
		free(pairs);
	}
}

/* As sort_stable() does it, whatever the size of an item is and wherever its key. */
static void sorting_by_a_number_is_stable(void **state)
{
	static const size_t words[] = { 1, 2, 3, 4, 5 };

	(void)state;
	for (size_t w = 0; w < array_size(words); w++)
		for (size_t key = 0; key < words[w]; key++) {
			enum { COUNT = 1000 };
			const size_t item_bytes = words[w] * sizeof(uint64_t);
			uint64_t *items = calloc(COUNT, item_bytes);
			uint64_t random = w + 1;

			for (uint64_t i = 0; i < COUNT; i++)
				for (size_t k = 0; k < words[w]; k++)
					items[i * words[w] + k] =
						k == key ? next(&random) % 500 << 40 : i * 8 + k;
			assert_true(sort_by_u64(items, COUNT, item_bytes, key * sizeof(uint64_t)));
			for (uint64_t i = 1; i < COUNT; i++) {
				const uint64_t *a = items + (i - 1) * words[w], *b = a + words[w];
				const size_t other = key == 0 ? words[w] - 1 : 0;

				assert_true(a[key] < b[key] ||
					    (a[key] == b[key] &&
					     (key == other || a[other] < b[other])));
				for (size_t k = 0; k < words[w]; k++)
					assert_true(k == key || k == other ||
						    b[k] - b[other] == k - other);
			}
			free(items);
		}
}

/* Those that are parted first: also if nearly all are in one part, or keys differ in any bits. */
static void many_are_sorted_like_a_few(void **state)
{
	enum { COUNT = 150000 };
	static const struct {
		uint64_t mask;
		unsigned same; /* of so many items all but one have a key of 3 */
	} rows[] = { { UINT64_MAX, 1 }, { 0xfff, 1 }, { 0x3ffffff0, 1 }, { UINT64_MAX, 97 },
		     { 1ull << 63, 1 }, { 1, 1 },     { 0, 1 },		 { 0xff00000000ff, 5 } };

	(void)state;
	for (size_t row = 0; row < array_size(rows); row++) {
		struct item *items = calloc(COUNT, sizeof(*items));
		struct item *truth = calloc(COUNT, sizeof(*truth));
		uint64_t random = row + 1;

		for (uint32_t i = 0; i < COUNT; i++)
			items[i] = (struct item) {
				i % rows[row].same ? 3 : next(&random) & rows[row].mask, i
			};
		memcpy(truth, items, COUNT * sizeof(*items));
		assert_true(sort_stable(truth, COUNT, sizeof(*truth), compare_items, NULL));
		assert_true(sort_by_u64(items, COUNT, sizeof(*items), offsetof(struct item, key)));
		for (size_t i = 0; i < COUNT; i++)
			assert_true(items[i].key == truth[i].key &&
				    items[i].order == truth[i].order);
		free(items);
		free(truth);
	}
}

static void a_vector_grows_and_refuses_the_impossible(void **state)
{
	CLEAN(vec_u64_deinit) struct vec_u64 vec = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 10000; i++)
		assert_true(vec_u64_push(&vec, i * i));
	assert_int_equal(vec.count, 10000);
	assert_int_equal(vec.items[9999], 9999 * 9999);
	assert_false(vec_u64_reserve(&vec, SIZE_MAX / 4));
	assert_int_equal(vec.items[9999], 9999 * 9999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_remembers_what_was_not_removed),
		cmocka_unit_test(equal_texts_are_interned_once),
		cmocka_unit_test(arena_memory_is_zeroed_aligned_and_apart),
		cmocka_unit_test(sorting_is_stable),
		cmocka_unit_test(sorting_by_a_number_is_stable),
		cmocka_unit_test(many_are_sorted_like_a_few),
		cmocka_unit_test(a_vector_grows_and_refuses_the_impossible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
