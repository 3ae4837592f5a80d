/*
 * Blocks of LZ4: what its description says they mean, the nearest that mean nothing, and
 * beginnings.
 */
#include "../test.h"

#include "convert/lz4_block.h"

/* A block ends with five literals. */
#define REST 'v', 'w', 'x', 'y', 'z'

static const struct {
	const char *what;
	uint8_t bytes[24];
	size_t count;
	size_t max;
	enum lz4_result result;
	const char *text;
} rows[] = {
	{ "literals alone", { 0x30, 'a', 'b', 'c' }, 4, 64, LZ4_DONE, "abc" },
	{ "a copy of 4",
	  { 0x40, 'a', 'b', 'c', 'd', 4, 0, 0x50, REST },
	  13,
	  64,
	  LZ4_DONE,
	  "abcdabcdvwxyz" },
	{ "a copy of itself", { 0x11, 'a', 1, 0, 0x50, REST }, 10, 64, LZ4_DONE, "aaaaaavwxyz" },
	{ "a long copy",
	  { 0x1f, 'a', 1, 0, 2, 0x50, REST },
	  11,
	  64,
	  LZ4_DONE,
	  "aaaaaaaaaaaaaaaaaaaaaavwxyz" },
	{ "a copy at the end, as bytehound writes it",
	  { 0x40, 'a', 'b', 'c', 'd', 4, 0 },
	  7,
	  64,
	  LZ4_DONE,
	  "abcdabcd" },
	{ "two literals at the end",
	  { 0x40, 'a', 'b', 'c', 'd', 4, 0, 0x20, 'y', 'z' },
	  10,
	  64,
	  LZ4_DONE,
	  "abcdabcdyz" },
	{ "nothing", { 0 }, 0, 64, LZ4_DONE, "" },
	{ "a copy from nowhere", { 0x40, 'a', 'b', 'c', 'd', 0, 0 }, 7, 64, LZ4_DAMAGED, "" },
	{ "half a copy", { 0x40, 'a', 'b', 'c', 'd', 4 }, 6, 64, LZ4_DAMAGED, "" },
	{ "from before the block", { 0x10, 'a', 2, 0, 0x50, REST }, 10, 64, LZ4_DAMAGED, "" },
	{ "literals that are not there", { 0x50, 'a', 'b' }, 3, 64, LZ4_DAMAGED, "" },
	{ "a length without an end", { 0xf0, 255, 255 }, 3, 64, LZ4_DAMAGED, "" },
	{ "as much as there may be", { 0x30, 'a', 'b', 'c' }, 4, 3, LZ4_DONE, "abc" },
	{ "more than there may be", { 0x30, 'a', 'b', 'c' }, 4, 2, LZ4_DAMAGED, "" },
	{ "a copy of too much", { 0x1f, 'a', 1, 0, 255, 255, 0 }, 7, 64, LZ4_DAMAGED, "" },
};

static void blocks_are_decoded_or_left(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		CLEAN(vec_u8_deinit) struct vec_u8 out = { 0 };

		print_message("# %s\n", rows[i].what);
		assert_int_equal(lz4_block_decode(rows[i].bytes, rows[i].count, rows[i].max, &out),
				 rows[i].result);
		assert_int_equal(out.count, strlen(rows[i].text));
		if (out.count > 0)
			assert_memory_equal(out.items, rows[i].text, out.count);
	}
}

static void a_block_is_put_behind_what_is_there_and_copies_nothing_of_it(void **state)
{
	static const uint8_t block[] = { 0x10, 'b', 2, 0, 0x50, REST };
	CLEAN(vec_u8_deinit) struct vec_u8 out = { 0 };

	(void)state;
	assert_true(vec_u8_push(&out, 'a'));
	assert_int_equal(lz4_block_decode(block, sizeof(block), 64, &out), LZ4_DAMAGED);
	assert_int_equal(out.count, 1);
	assert_int_equal(lz4_block_decode(block, 2, 64, &out), LZ4_DONE);
	assert_int_equal(out.count, 2);
	assert_memory_equal(out.items, "ab", 2);
}

static void a_beginning_is_decoded_as_far_as_it_goes(void **state)
{
	static const uint8_t block[] = { 0x40, 'a', 'b', 'c', 'd', 4, 0, 0x90, 'e', 'f' };
	CLEAN(vec_u8_deinit) struct vec_u8 out = { 0 };

	(void)state;
	assert_int_equal(lz4_block_begin(block, sizeof(block), 64, &out), LZ4_DONE);
	assert_int_equal(out.count, 10);
	assert_memory_equal(out.items, "abcdabcdef", 10);
	out.count = 0;
	assert_int_equal(lz4_block_begin(block, sizeof(block), 6, &out), LZ4_DONE);
	assert_int_equal(out.count, 6);
	assert_memory_equal(out.items, "abcdab", 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_decoded_or_left),
		cmocka_unit_test(a_beginning_is_decoded_as_far_as_it_goes),
		cmocka_unit_test(a_block_is_put_behind_what_is_there_and_copies_nothing_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
