#include "../test.h"

#include <stdlib.h>

#include "../tape_writer.h"
#include "model/blocks.h"

enum { KEYS = 60000 };

/* Addresses as an allocator gives them (dense), as mmap does (far apart), or all in one place. */
static uint64_t address_of(size_t key, unsigned kind, const struct blocks *blocks)
{
	switch (kind) {
	case 0:
		return 0x7f0000000000 + key * 32;
	case 1:
		return (key + 1) << 21;
	default: { /* the last slots and the first: where searches wrap around */
		uint64_t inverse = UINT64_C(0xf1de83e19937733d), home = UINT64_MAX - key;

		(void)blocks;
		home = (home * inverse) << 4 | (home * inverse) >> 60;
		return home ? home : 16;
	}
	}
}

static void a_table_has_what_was_filled_and_not_ended(void **state)
{
	static uint8_t live[KEYS];

	(void)state;
	for (unsigned kind = 0; kind < 3; kind++) {
		struct blocks blocks;
		uint64_t random = kind + 1;
		size_t live_count = 0, keys = kind == 2 ? 500 : KEYS;

		memset(live, 0, sizeof(live));
		assert_true(blocks_init(&blocks));
		for (size_t i = 0; i < 400000; i++) {
			uint64_t r = random_next(&random);
			/* grows, shrinks, grows: doubled and made anew */
			size_t key = (r >> 8) % (i % 200000 < 100000 ? keys : keys / 8);
			uint64_t address = address_of(key, kind, &blocks);
			struct block *block;

			assert_true(blocks_make_room(&blocks));
			block = blocks_find(&blocks, address);
			assert_int_equal(block_is_live(block), live[key]);
			assert_true(!live[key] || block->size == key);
			if (live[key] && r % 2) {
				blocks_end(&blocks, block);
				live[key] = 0;
				live_count--;
			} else if (!live[key]) {
				blocks_fill(&blocks, block,
					    (struct block) { .address = address, .size = key });
				live[key] = 1;
				live_count++;
			}
			assert_int_equal(blocks.live_count, live_count);
		}
		for (size_t key = 0; key < keys; key++)
			assert_int_equal(
				block_is_live(blocks_find(&blocks, address_of(key, kind, &blocks))),
				live[key]);
		assert_true(blocks.mask < live_count * 8 + 8192);
		blocks_deinit(&blocks);
	}
}

static void the_dead_are_not_kept_for_ever(void **state)
{
	struct blocks blocks;

	(void)state;
	assert_true(blocks_init(&blocks));
	for (uint64_t i = 1; i < 500000; i++) {
		assert_true(blocks_make_room(&blocks));
		blocks_fill(&blocks, blocks_find(&blocks, i * 16),
			    (struct block) { .address = i * 16 });
		blocks_end(&blocks, blocks_find(&blocks, i * 16));
	}
	assert_int_equal(blocks.live_count, 0);
	assert_true(blocks.mask < 8192);
	blocks_deinit(&blocks);
}

static void what_is_remembered_stays_until_its_address_is_filled(void **state)
{
	enum { REMEMBERED = 3000 };
	struct blocks blocks;

	(void)state;
	assert_true(blocks_init(&blocks));
	for (uint64_t i = 1; i < 100000; i++) {
		struct block *block;

		assert_true(blocks_make_room(&blocks));
		block = blocks_find(&blocks, i * 16);
		blocks_fill(&blocks, block, (struct block) { .address = i * 16, .size = i });
		blocks_end(&blocks, block);
		if (i <= REMEMBERED)
			block->thread |= BLOCK_REMEMBERED;
	}
	assert_int_equal(blocks.live_count, 0);
	assert_true(blocks.mask < 16384);
	for (uint64_t i = 1; i <= REMEMBERED; i++) {
		struct block *block = blocks_find(&blocks, i * 16);

		assert_true(block_is_remembered(block));
		assert_false(block_is_live(block));
		assert_int_equal(block->size, i);
		blocks_fill(&blocks, block, (struct block) { .address = i * 16, .size = i });
		assert_true(block_is_live(block));
		assert_false(block_is_remembered(block));
	}
	assert_int_equal(blocks.live_count, REMEMBERED);
	blocks_deinit(&blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_has_what_was_filled_and_not_ended),
		cmocka_unit_test(the_dead_are_not_kept_for_ever),
		cmocka_unit_test(what_is_remembered_stays_until_its_address_is_filled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
