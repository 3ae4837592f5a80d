/* Random mmap, munmap, mprotect and mremap against an array that says of every page whose it is. */
#include "../test.h"

#include "space/mappings_pieces.h"

enum { PAGES = 96, MAPPINGS = 64, ROUNDS = 400, STEPS = 120 };

struct page {
	uint32_t mapping; /* 0: not mapped */
	uint32_t prot;
};

struct world {
	struct mappings_pieces pieces;
	struct page pages[PAGES];
	int64_t bytes[MAPPINGS + 1]; /* as the pieces tell */
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void count_bytes(void *context, uint32_t mapping, int64_t bytes)
{
	struct world *world = context;

	world->bytes[mapping] += bytes;
}

/* --- what the pages say -------------------------------------------------------------------- */

static void pages_set(struct world *world, uint64_t begin, uint64_t end, uint32_t mapping,
		      uint32_t prot)
{
	for (uint64_t i = begin; i < end; i++)
		world->pages[i] = (struct page) { .mapping = mapping, .prot = prot };
}

static void pages_protect(struct world *world, uint64_t begin, uint64_t end, uint32_t prot)
{
	for (uint64_t i = begin; i < end; i++)
		if (world->pages[i].mapping)
			world->pages[i].prot = prot;
}

static void pages_move(struct world *world, uint64_t begin, uint64_t end, uint64_t to,
		       uint64_t count, bool keeps_old)
{
	const uint64_t kept = u64_min(end - begin, count);
	struct page moved[PAGES] = { 0 };
	bool has_any = false;

	for (uint64_t i = 0; i < count; i++)
		moved[i] = i < kept ? world->pages[begin + i] : moved[kept - 1];
	for (uint64_t i = 0; i < kept; i++)
		has_any |= moved[i].mapping != 0;
	if (!has_any)
		return;
	if (!keeps_old)
		pages_set(world, begin, end, 0, 0);
	pages_set(world, to, to + count, 0, 0);
	memcpy(&world->pages[to], moved, count * sizeof(*moved));
}

/* --- comparing ----------------------------------------------------------------------------- */

static void check(const struct world *world)
{
	const struct mappings_piece_vec *all = &world->pieces.all;
	int64_t bytes[MAPPINGS + 1] = { 0 };
	struct page found[PAGES] = { 0 };

	for (size_t i = 0; i < all->count; i++) {
		const struct mappings_piece *piece = &all->items[i];

		assert_true(piece->begin < piece->end && piece->end <= PAGES);
		assert_true(i == 0 || all->items[i - 1].end <= piece->begin);
		if (i > 0 && all->items[i - 1].end == piece->begin)
			assert_true(all->items[i - 1].mapping != piece->mapping ||
				    all->items[i - 1].prot != piece->prot);
		bytes[piece->mapping] += (int64_t)(piece->end - piece->begin);
		for (uint64_t page = piece->begin; page < piece->end; page++)
			found[page] = (struct page) { piece->mapping, piece->prot };
	}
	assert_memory_equal(found, world->pages, sizeof(found));
	assert_memory_equal(bytes, world->bytes, sizeof(bytes));
	for (uint64_t page = 0; page < PAGES; page++) {
		const size_t at = mappings_pieces_find(&world->pieces, page);
		const bool is_in = at < all->count && all->items[at].begin <= page;

		assert_int_equal(is_in, world->pages[page].mapping != 0);
	}
}

static void move(struct world *world, uint64_t begin, uint64_t end, uint64_t *random)
{
	const uint64_t count = 1 + next_random(random) % 12;
	const bool keeps_old = next_random(random) % 4 == 0;
	uint64_t to = next_random(random) % (PAGES - count);

	/* the kernel refuses ranges that overlap, unless it is the same place */
	if (next_random(random) % 2 && begin + count <= PAGES && !keeps_old)
		to = begin;
	else if (to < end && begin < to + count)
		return;
	assert_true(mappings_pieces_move(&world->pieces, begin, end, to, count, keeps_old));
	pages_move(world, begin, end, to, count, keeps_old);
}

static void step(struct world *world, uint64_t *random)
{
	const uint64_t begin = next_random(random) % PAGES;
	const uint64_t end = begin + 1 + next_random(random) % u64_min(16, PAGES - begin);
	const uint32_t mapping = 1 + (uint32_t)(next_random(random) % MAPPINGS);
	const uint32_t prot = (uint32_t)(next_random(random) % 3);

	switch (next_random(random) % 4) {
	case 0:
		assert_true(mappings_pieces_set(&world->pieces, begin, end, mapping, prot));
		pages_set(world, begin, end, mapping, prot);
		break;
	case 1:
		assert_true(mappings_pieces_unmap(&world->pieces, begin, end));
		pages_set(world, begin, end, 0, 0);
		break;
	case 2:
		assert_true(mappings_pieces_protect(&world->pieces, begin, end, prot));
		pages_protect(world, begin, end, prot);
		break;
	case 3:
		move(world, begin, end, random);
		break;
	}
}

static void pieces_say_what_pages_say(void **state)
{
	uint64_t random = 88172645463325252u;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct world world = { .pieces = { .changed = count_bytes } };

		world.pieces.context = &world;
		for (int i = 0; i < STEPS; i++) {
			step(&world, &random);
			check(&world);
		}
		mappings_pieces_deinit(&world.pieces);
	}
}

static void a_hole_in_a_mapping_leaves_two_pieces_of_it(void **state)
{
	struct mappings_pieces pieces = { 0 };

	(void)state;
	assert_true(mappings_pieces_set(&pieces, 10, 20, 1, 3));
	assert_true(mappings_pieces_unmap(&pieces, 14, 16));
	assert_int_equal(pieces.all.count, 2);
	assert_int_equal(pieces.all.items[0].end, 14);
	assert_int_equal(pieces.all.items[1].begin, 16);
	assert_int_equal(pieces.all.items[1].mapping, 1);
	assert_true(mappings_pieces_set(&pieces, 14, 16, 1, 3));
	assert_int_equal(pieces.all.count, 1);
	mappings_pieces_deinit(&pieces);
}

static void what_is_moved_from_nowhere_is_nothing(void **state)
{
	struct mappings_pieces pieces = { 0 };

	(void)state;
	assert_true(mappings_pieces_set(&pieces, 50, 60, 1, 3));
	assert_true(mappings_pieces_move(&pieces, 10, 20, 50, 10, false));
	assert_int_equal(pieces.all.count, 1);
	mappings_pieces_deinit(&pieces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_say_what_pages_say),
		cmocka_unit_test(a_hole_in_a_mapping_leaves_two_pieces_of_it),
		cmocka_unit_test(what_is_moved_from_nowhere_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
