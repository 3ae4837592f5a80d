/* What was asked for a block is what comes back when it is freed, once, wherever it lies. */
#include "../test.h"

#include <malloc.h>

#include "rec/sizes.h"

struct rec_process rec;

bool rec_board_forbids(void)
{
	return false;
}

struct rec_real rec_real = { .malloc_usable_size = malloc_usable_size };

void *rec_map(size_t bytes)
{
	return sys_map_private(bytes);
}

void rec_unmap(void *memory, size_t bytes)
{
	sys_munmap(memory, bytes);
}

/* An allocator with blocks of eight bytes, two in sixteen. */
static size_t usable_of_small(void *ptr)
{
	(void)ptr;
	return 8;
}

static int setup(void **state)
{
	(void)state;
	rec_real.usable_size = usable_of_small;
	return rec_sizes_init() ? 0 : -1;
}

static uint64_t taken(uint64_t address)
{
	return rec_sizes_take(address);
}

static void a_block_is_taken_once(void **state)
{
	static const uint64_t sizes[] = { 9,
					  10,
					  16,
					  4000,
					  SIZES_PLAIN_MAX - 1,
					  SIZES_PLAIN_MAX,
					  SIZES_PLAIN_MAX + 1,
					  0xff00,
					  UINT64_C(1) << 33,
					  UINT64_C(0x123456789abcde) };
	static const uint64_t places[] = {
		UINT64_C(0x7f0012345670), UINT64_C(0x555500000010),
		/* the end of a leaf, so that a long one goes on in the next */
		(UINT64_C(0x1234) << SIZES_LEAF_SHIFT) - 32
	};

	(void)state;
	for (size_t p = 0; p < array_size(places); p++) {
		assert_int_equal(taken(places[p]), UINT64_MAX);
		for (size_t i = 0; i < array_size(sizes); i++) {
			rec_sizes_put(places[p], sizes[i]);
			assert_int_equal(taken(places[p]), sizes[i]);
			assert_int_equal(taken(places[p]), UINT64_MAX);
		}
	}
}

static void two_small_blocks_share_a_place(void **state)
{
	const uint64_t first = UINT64_C(0x7f0000000040);

	(void)state;
	for (uint64_t a = 0; a <= 8; a++) {
		for (uint64_t b = 0; b <= 8; b++) {
			rec_sizes_put(first, a);
			rec_sizes_put(first + 8, b);
			assert_int_equal(taken(first), a);
			assert_int_equal(taken(first), UINT64_MAX);
			assert_int_equal(taken(first + 8), b);
			assert_int_equal(taken(first + 8), UINT64_MAX);
		}
	}
}

static void small_blocks_with_a_place_of_their_own_are_plain(void **state)
{
	void *block = malloc(3);

	(void)state;
	rec_real.usable_size = malloc_usable_size;
	rec_sizes_put((uint64_t)block, 0);
	assert_int_equal(taken((uint64_t)block), 0);
	rec_sizes_put((uint64_t)block, 3);
	assert_int_equal(taken((uint64_t)block), 3);
	free(block);
	rec_real.usable_size = usable_of_small;
}

static void a_newer_block_replaces_one_whose_free_was_not_seen(void **state)
{
	const uint64_t place = UINT64_C(0x7f0000001000);

	(void)state;
	rec_sizes_put(place, 500);
	rec_sizes_put(place, 7);
	assert_int_equal(taken(place), 7);
	rec_sizes_put(place, 7);
	rec_sizes_put(place, 600);
	assert_int_equal(taken(place), 600);
	assert_int_equal(taken(place + 8), UINT64_MAX);
}

static void addresses_beyond_the_table_are_unknown(void **state)
{
	(void)state;
	rec_sizes_put(UINT64_C(1) << SIZES_ADDRESS_BITS, 100);
	assert_int_equal(taken(UINT64_C(1) << SIZES_ADDRESS_BITS), UINT64_MAX);
	assert_int_equal(taken(UINT64_MAX - 15), UINT64_MAX);
	assert_int_equal(taken(0), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_is_taken_once),
		cmocka_unit_test(two_small_blocks_share_a_place),
		cmocka_unit_test(small_blocks_with_a_place_of_their_own_are_plain),
		cmocka_unit_test(a_newer_block_replaces_one_whose_free_was_not_seen),
		cmocka_unit_test(addresses_beyond_the_table_are_unknown),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
