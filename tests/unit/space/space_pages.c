/*
 * Live bytes of pages against an array that counts every byte; large blocks, the last page, damage.
 */
#include "../test.h"

#include "space/space_pages.h"

enum { PAGES = 40, BYTES = PAGES * SPACE_PAGE, BLOCKS = 64, STEPS = 4000 };

static const uint64_t BASE = (UINT64_C(7) << SPACE_CHUNK_SHIFT) - 20 * SPACE_PAGE;
static const uint64_t CHUNK = UINT64_C(1) << SPACE_CHUNK_SHIFT;

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void check(const struct space_pages *pages, const uint8_t *bytes)
{
	uint64_t total = 0;

	for (size_t page = 0; page < PAGES; page++) {
		const uint64_t address = BASE + page * SPACE_PAGE;
		unsigned live = 0;

		for (size_t i = 0; i < SPACE_PAGE; i++)
			live += bytes[page * SPACE_PAGE + i];
		assert_int_equal(space_pages_at(pages, address + 17), live);
		assert_int_equal(space_pages_any(pages, address, address + SPACE_PAGE), live > 0);
		total += live;
	}
	assert_int_equal(space_pages_sum(pages, BASE, BASE + BYTES), total);
	assert_int_equal(space_pages_sum(pages, 0, UINT64_MAX), total);
}

static bool is_free(const uint8_t *bytes, size_t begin, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[begin + i])
			return false;
	return true;
}

/* The range lies across the border of two chunks. */
static void pages_say_what_bytes_say(void **state)
{
	CLEAN(space_pages_deinit) struct space_pages pages = { 0 };
	struct {
		size_t begin, count;
	} blocks[BLOCKS] = { 0 };
	uint8_t *bytes = calloc(1, BYTES);
	uint64_t random = 88172645463325252u;

	(void)state;
	for (size_t step = 0; step < STEPS; step++) {
		const size_t i = next_random(&random) % BLOCKS;
		const size_t most = next_random(&random) % 8 ? 3000 : 30000;

		if (blocks[i].count > 0) {
			space_pages_remove(&pages, BASE + blocks[i].begin, blocks[i].count);
			memset(bytes + blocks[i].begin, 0, blocks[i].count);
			blocks[i].count = 0;
			continue;
		}
		blocks[i].count = 1 + next_random(&random) % most;
		blocks[i].begin = next_random(&random) % (BYTES - blocks[i].count);
		if (!is_free(bytes, blocks[i].begin, blocks[i].count)) {
			blocks[i].count = 0;
			continue;
		}
		assert_true(space_pages_add(&pages, BASE + blocks[i].begin, blocks[i].count));
		memset(bytes + blocks[i].begin, 1, blocks[i].count);
		if (step % 100 == 0)
			check(&pages, bytes);
	}
	check(&pages, bytes);
	free(bytes);
}

static void a_block_of_many_chunks_costs_no_counters_for_its_middle(void **state)
{
	CLEAN(space_pages_deinit) struct space_pages pages = { 0 };
	CLEAN(vec_u64_deinit) struct vec_u64 numbers = { 0 };
	const uint64_t address = 5 * CHUNK + 100, bytes = 1000 * CHUNK;
	unsigned live;

	(void)state;
	assert_true(space_pages_add(&pages, address, bytes));
	assert_int_equal(pages.chunks.count, 1001);
	assert_int_equal(space_pages_sum(&pages, 0, UINT64_MAX), bytes);
	assert_null(pages.chunks.items[500].bytes);
	assert_int_equal(space_pages_at(&pages, 500 * CHUNK), SPACE_PAGE);
	assert_int_equal(space_pages_at(&pages, address), SPACE_PAGE - 100);
	assert_true(space_pages_numbers(&pages, &numbers));
	assert_int_equal(space_pages_stretch(&pages, &numbers, 0, UINT64_MAX, &live), 5 * CHUNK);
	assert_int_equal(live, 0);
	assert_int_equal(space_pages_stretch(&pages, &numbers, 5 * CHUNK, 9 * CHUNK, &live),
			 5 * CHUNK);
	assert_int_equal(space_pages_stretch(&pages, &numbers, 7 * CHUNK, 9 * CHUNK, &live),
			 8 * CHUNK);
	assert_int_equal(live, SPACE_PAGE);
	assert_int_equal(space_pages_stretch(&pages, &numbers, 2000 * CHUNK, UINT64_MAX, &live),
			 UINT64_MAX);
	assert_int_equal(live, 0);
	space_pages_remove(&pages, address, bytes);
	assert_int_equal(space_pages_sum(&pages, 0, UINT64_MAX), 0);
}

static void blocks_that_overlap_come_and_go_without_a_trace(void **state)
{
	CLEAN(space_pages_deinit) struct space_pages pages = { 0 };

	(void)state;
	for (size_t i = 0; i < 100; i++)
		assert_true(space_pages_add(&pages, 0x10000 + i, SPACE_PAGE));
	assert_int_equal(space_pages_at(&pages, 0x10000), SPACE_PAGE);
	for (size_t i = 0; i < 100; i++)
		space_pages_remove(&pages, 0x10000 + i, SPACE_PAGE);
	assert_false(space_pages_any(&pages, 0, UINT64_MAX));
	space_pages_remove(&pages, 0x10000, SPACE_PAGE); /* never came */
}

static void what_no_allocator_gives_is_left_out(void **state)
{
	CLEAN(space_pages_deinit) struct space_pages pages = { 0 };
	const uint64_t last = UINT64_MAX - SPACE_PAGE + 1;

	(void)state;
	assert_true(space_pages_add(&pages, 0x10000, UINT64_MAX));
	assert_true(space_pages_add(&pages, last, SPACE_PAGE));
	assert_true(space_pages_add(&pages, 0x10000, 0));
	assert_int_equal(pages.chunks.count, 0);
	assert_false(space_pages_any(&pages, last, UINT64_MAX));
	assert_int_equal(space_pages_sum(&pages, last - CHUNK, UINT64_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_say_what_bytes_say),
		cmocka_unit_test(a_block_of_many_chunks_costs_no_counters_for_its_middle),
		cmocka_unit_test(blocks_that_overlap_come_and_go_without_a_trace),
		cmocka_unit_test(what_no_allocator_gives_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
