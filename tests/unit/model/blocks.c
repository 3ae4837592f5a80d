#include "../test.h"

#include <stdlib.h>

#include "../tape_writer.h"
#include "model/blocks.h"

enum { KEYS = 60000 };

enum { KINDS = 4 };

/*
 * Addresses as an allocator gives them (dense), as mmap does (far apart), or all in one slot: with
 * the same hash, and with the lower half of it only.
 */
static uint64_t address_of(size_t key, unsigned kind)
{
	switch (kind) {
	case 0:
		return 0x7f0000000000 + key * 32;
	case 1:
		return (key + 1) << 21;
	default: { /* the last slot: searches wrap around */
		const uint64_t inverse = UINT64_C(0xf1de83e19937733d);
		const uint64_t product = kind == 2 ? UINT64_MAX - key : UINT64_MAX - (key << 52);
		const uint64_t address = (product * inverse) << 4 | (product * inverse) >> 60;

		assert_int_equal(blocks_hash(address) & 0xfffff, 0xfffff);
		return address ? address : 16;
	}
	}
}

static void a_table_has_what_was_filled_and_not_ended(void **state)
{
	static uint8_t live[KEYS];

	(void)state;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		struct blocks blocks;
		uint64_t random = kind + 1;
		size_t live_count = 0, keys = kind >= 2 ? 500 : KEYS;

		memset(live, 0, sizeof(live));
		assert_true(blocks_init(&blocks));
		for (size_t i = 0; i < 400000; i++) {
			uint64_t r = random_next(&random);
			/* grows, shrinks, grows: doubled and made anew */
			size_t key = (r >> 8) % (i % 200000 < 100000 ? keys : keys / 8);
			uint64_t address = address_of(key, kind);
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
			assert_int_equal(block_is_live(blocks_find(&blocks, address_of(key, kind))),
					 live[key]);
		assert_true(blocks.room < live_count * 8 + 8192);
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
	assert_true(blocks.room < 8192);
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
	assert_true(blocks.room < 16384);
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

static void a_wrong_guess_finds_the_same(void **state)
{
	struct blocks blocks;
	uint64_t random = 1;
	size_t right_count = 0;

	(void)state;
	assert_true(blocks_init(&blocks));
	for (size_t i = 0; i < 200000; i++) {
		/* more and more of them, and most are dead: purged and doubled in turn */
		const uint64_t address = (random_next(&random) % (i / 16 + 100) + 1) * 16;
		const uint32_t right = blocks_guess(&blocks, address);
		const uint32_t wrong = (uint32_t)(random_next(&random) % blocks.room);
		struct block *block = blocks_find(&blocks, address);

		assert_ptr_equal(blocks_find_near(&blocks, address, right), block);
		assert_ptr_equal(blocks_find_near(&blocks, address, wrong), block);
		right_count += block == &blocks.items[right];
		assert_true(block->address == 0 || block->address == address);
		if (block_is_live(block)) {
			blocks_end(&blocks, block);
			continue;
		}
		assert_true(blocks_make_room(&blocks));
		blocks_fill(&blocks, blocks_find(&blocks, address),
			    (struct block) { .address = address });
	}
	assert_true(right_count > 100000);
	blocks_deinit(&blocks);
}

/* Up to half a million the index has two slots for each, and then one. */
static void a_large_table_has_all_that_was_filled(void **state)
{
	enum { MANY = 1500000 };
	struct blocks blocks;

	(void)state;
	assert_true(blocks_init(&blocks));
	for (uint64_t i = 1; i <= MANY; i++) {
		assert_true(blocks_make_room(&blocks));
		blocks_fill(&blocks, blocks_find(&blocks, i * 48),
			    (struct block) { .address = i * 48, .size = i });
	}
	assert_int_equal(blocks.live_count, MANY);
	assert_true(blocks.mask + 1 == blocks.room);
	for (uint64_t i = 1; i <= MANY; i++)
		assert_int_equal(blocks_find(&blocks, i * 48)->size, i);
	assert_false(block_is_live(blocks_find(&blocks, (MANY + 1) * UINT64_C(48))));
	blocks_deinit(&blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_has_what_was_filled_and_not_ended),
		cmocka_unit_test(the_dead_are_not_kept_for_ever),
		cmocka_unit_test(what_is_remembered_stays_until_its_address_is_filled),
		cmocka_unit_test(a_wrong_guess_finds_the_same),
		cmocka_unit_test(a_large_table_has_all_that_was_filled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
