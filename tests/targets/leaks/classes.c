/*
 * classes: each class of lost and held memory alone, and mixed; chains, cycles, trees, and groups
 * of lost blocks with several beginnings.
 *
 *	Run: all_freed: nothing
 *	Run: definite: definite 100 in 1
 *	Run: many_definite: definite 5050 in 100
 *	Run: reachable: reachable 104 in 1
 *	Run: possible: possible 108 in 1
 *	Run: indirect: definite 16 in 1, indirect 112 in 1
 *	Run: one_of_each: definite 24 in 1, indirect 201 in 1, possible 202 in 1, reachable 203 in 1
 *	Run: own_cycle: definite 32 in 1
 *	Run: cycle_of_two: definite 40 in 1, indirect 40 in 1
 *	Run: cycle_of_ten: definite 48 in 1, indirect 432 in 9
 *	Run: held_cycle: reachable 480 in 10
 *	Run: cycle_in_the_middle: possible 480 in 10
 *	Run: two_cycles: definite 96 in 2, indirect 192 in 4
 *	Run: eight: definite 56 in 1, indirect 168 in 3
 *	Run: tree: definite 64 in 1, indirect 896 in 14
 *	Run: held_tree: reachable 960 in 15
 *	Run: tree_in_the_middle: possible 960 in 15
 *	Run: diamond: definite 72 in 1, indirect 216 in 3
 *	Run: two_leaders: definite 160 in 2, indirect 88 in 1
 *	Run: late_leader: definite 96 in 1, indirect 96 in 1
 *	Run: leader_of_leader: definite 104 in 1, indirect 312 in 3
 *	Run: leader_of_follower: definite 208 in 2, indirect 208 in 2
 *	Run: leaders_of_one_list: definite 336 in 3, indirect 1120 in 10
 *	Run: held_list: reachable 1200 in 10
 *	Run: lost_list: definite 120 in 1, indirect 1080 in 9
 *	Run: list_held_in_the_middle: definite 128 in 1, indirect 512 in 4, reachable 640 in 5
 *	Run: start_is_better_than_middle: reachable 136 in 1
 *	Run: middle_of_a_held_block: possible 288 in 2, reachable 304 in 2
 *	Run: lost_with_a_middle: definite 160 in 1, indirect 168 in 1
 *	Run: lost_with_a_held_one: definite 176 in 1, reachable 184 in 1
 *	Run: lost_with_a_possible_one: definite 192 in 1, possible 200 in 1
 *	Run: long_list: definite 24 in 1, indirect 479976 in 19999
 */
#include "leak.h"

static void *volatile held[8];

static void all_freed(void)
{
	free(block(100));
}

static void definite(void)
{
	block(100);
}

static void many_definite(void)
{
	for (size_t i = 1; i <= 100; i++)
		block(i);
}

static void reachable(void)
{
	held[0] = block(104);
}

static void possible(void)
{
	held[0] = within(block(108), 40);
}

static void indirect(void)
{
	node(16, block(112), NULL);
}

static void one_of_each(void)
{
	node(24, block(201), NULL);
	held[0] = within(block(202), 8);
	held[1] = block(203);
}

/* --- cycles ---------------------------------------------------------------------------------- */

FRAME static void *make_cycle(size_t bytes, int count)
{
	void *last = node(bytes, NULL, NULL);
	void *first = last;

	for (int i = 1; i < count; i++)
		first = node(bytes, first, NULL);
	put(last, first);
	return first;
}

static void own_cycle(void)
{
	make_cycle(32, 1);
}

static void cycle_of_two(void)
{
	make_cycle(40, 2);
}

static void cycle_of_ten(void)
{
	make_cycle(48, 10);
}

static void held_cycle(void)
{
	held[0] = make_cycle(48, 10);
}

static void cycle_in_the_middle(void)
{
	held[0] = within(make_cycle(48, 10), 16);
}

static void two_cycles(void)
{
	make_cycle(48, 3);
	make_cycle(48, 3);
}

/* Two cycles that share a block. */
static void eight(void)
{
	void *shared = make_cycle(56, 2);
	void *left = node(56, shared, NULL);
	void *right = node(56, left, NULL);

	put(within(shared, sizeof(void *)), right);
}

/* --- trees and groups ------------------------------------------------------------------------ */

FRAME static void *make_tree(size_t bytes, int depth)
{
	void *left, *right;

	if (depth == 0)
		return NULL;
	left = make_tree(bytes, depth - 1);
	right = make_tree(bytes, depth - 1);
	return node(bytes, left, right);
}

FRAME static void *make_list(size_t bytes, int count)
{
	void *first = NULL;

	for (int i = 0; i < count; i++)
		first = node(bytes, first, NULL);
	return first;
}

static void tree(void)
{
	make_tree(64, 4);
}

static void held_tree(void)
{
	held[0] = make_tree(64, 4);
}

static void tree_in_the_middle(void)
{
	held[0] = within(make_tree(64, 4), 63);
}

static void diamond(void)
{
	void *bottom = node(72, NULL, NULL);
	void *left = node(72, bottom, NULL);

	node(72, left, node(72, bottom, NULL));
}

static void two_leaders(void)
{
	void *shared = block(88);

	node(80, shared, NULL);
	node(80, NULL, shared);
}

/* The lower address is taken for a leader until the one that points to it is met. */
static void late_leader(void)
{
	node(96, node(96, NULL, NULL), NULL);
}

/* Of a cycle that was met before, what it was met by was its leader: the lowest address. */
static void leader_of_leader(void)
{
	void *last = make_cycle(104, 3);

	node(104, *(void **)*(void **)last, NULL);
}

/* Another block of the cycle leads to no other leader: Memcheck, too, then has two. */
static void leader_of_follower(void)
{
	node(104, make_cycle(104, 3), NULL);
}

static void leaders_of_one_list(void)
{
	void *list = make_list(112, 10);

	for (int i = 0; i < 3; i++)
		node(112, list, NULL);
}

static void held_list(void)
{
	held[0] = make_list(120, 10);
}

static void lost_list(void)
{
	make_list(120, 10);
}

static void list_held_in_the_middle(void)
{
	void *list = make_list(128, 5);

	held[0] = list;
	for (int i = 0; i < 5; i++)
		list = node(128, list, NULL);
}

static void start_is_better_than_middle(void)
{
	void *made = block(136);

	held[0] = within(made, 50);
	held[1] = made;
	held[2] = within(made, 60);
}

/* What the block in the middle holds by its beginning is not better than itself. */
static void middle_of_a_held_block(void)
{
	void *second = node(144, block(144), NULL);

	held[0] = node(152, within(second, 8), block(152));
}

static void lost_with_a_middle(void)
{
	node(160, within(block(168), 20), NULL);
}

static void lost_with_a_held_one(void)
{
	held[0] = block(184);
	node(176, held[0], NULL);
}

static void lost_with_a_possible_one(void)
{
	void *middle = block(200);

	held[0] = within(middle, 100);
	node(192, middle, NULL);
}

static void long_list(void)
{
	make_list(24, 20000);
}

static const struct leak_case cases[] = {
	CASE(all_freed),
	CASE(definite),
	CASE(many_definite),
	CASE(reachable),
	CASE(possible),
	CASE(indirect),
	CASE(one_of_each),
	CASE(own_cycle),
	CASE(cycle_of_two),
	CASE(cycle_of_ten),
	CASE(held_cycle),
	CASE(cycle_in_the_middle),
	CASE(two_cycles),
	CASE(eight),
	CASE(tree),
	CASE(held_tree),
	CASE(tree_in_the_middle),
	CASE(diamond),
	CASE(two_leaders),
	CASE(late_leader),
	CASE(leader_of_leader),
	CASE(leader_of_follower),
	CASE(leaders_of_one_list),
	CASE(held_list),
	CASE(lost_list),
	CASE(list_held_in_the_middle),
	CASE(start_is_better_than_middle),
	CASE(middle_of_a_held_block),
	CASE(lost_with_a_middle),
	CASE(lost_with_a_held_one),
	CASE(lost_with_a_possible_one),
	CASE(long_list),
};

LEAK_MAIN(cases)
