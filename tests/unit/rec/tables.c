/*
 * A lane's tables against a plain model of what they mean: whatever grew or was forgotten in
 * between, a node's number stands for the parent and the address it was asked for.
 */
#include "../test.h"
#include <stdlib.h>

#include "rec/tables.h"

enum { NODES_PER_CHUNK = 1000, NODES_MAX = 4 << 20, MANY_STEPS = 3000 };

struct rec_process rec;

static struct {
	struct rec_lane lane;
	uint8_t chunk[sizeof(struct tape_chunk) + 4096 +
		      NODES_PER_CHUNK * sizeof(struct tape_node)];
	struct tape_node *nodes; /* by number */
	uint32_t many_steps;
	uint32_t rules_asked;
} test;

void *rec_map(size_t bytes)
{
	return sys_map_private(bytes);
}

void rec_unmap(void *memory, size_t bytes)
{
	sys_munmap(memory, bytes);
}

/* Short steps, and of some addresses long ones: a few different ones, or more than can be kept. */
static uint32_t rule_of(uint64_t pc)
{
	if (pc % 5 == 0)
		return unwind_rule_make(UNWIND_BP, 2, (uint32_t)(pc / 5 % test.many_steps));
	return unwind_rule_make(UNWIND_SP, (uint32_t)pc % 8, 1 + (uint32_t)pc % 4000);
}

uint32_t rec_rule_get(struct rec_lane *lane, uint64_t lookup_pc)
{
	(void)lane;
	test.rules_asked++;
	return rule_of(lookup_pc);
}

static uint8_t *chunk_end(void)
{
	return test.chunk + sizeof(test.chunk);
}

/* The chunk's nodes, which lie backwards, to where the model has them. */
static void chunk_read(struct rec_lane *lane)
{
	const struct tape_node *node = (const struct tape_node *)chunk_end();
	uint32_t number = lane->next_node - lane->chunk->node_count;

	assert_true(lane->next_node < NODES_MAX);
	for (; number < lane->next_node; number++)
		test.nodes[number] = *--node;
	lane->chunk->first_node = lane->next_node;
	lane->chunk->node_count = 0;
	lane->nodes = chunk_end();
}

bool rec_chunk_next(struct rec_lane *lane)
{
	chunk_read(lane);
	return true;
}

static int setup(void **state)
{
	(void)state;
	memset(&test, 0, sizeof(test));
	test.many_steps = 3;
	test.nodes = calloc(NODES_MAX, sizeof(*test.nodes));
	test.lane.chunk = (struct tape_chunk *)test.chunk;
	test.lane.cursor = test.chunk + sizeof(struct tape_chunk);
	test.lane.nodes = chunk_end();
	test.lane.next_node = TAPE_NODE_FIRST;
	test.lane.chunk->first_node = TAPE_NODE_FIRST;
	rec.chunk_bytes = sizeof(test.chunk);
	return test.nodes && rec_tables_init(&test.lane) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	rec_tables_deinit(&test.lane);
	free(test.nodes);
	return rec.private_bytes == 0 ? 0 : -1;
}

/* One frame as rec/stack.c has it. */
static uint32_t step(uint32_t parent, uint64_t lookup_pc, bool exact)
{
	const struct memo_code code = place_get(&test.lane, lookup_pc);
	const uint32_t flags =
		code.place << MEMO_PLACE_SHIFT | MEMO_FRAME | (exact ? MEMO_EXACT : 0);

	assert_int_equal(code.step, memo_step(rule_of(lookup_pc)));
	return node_get(&test.lane, parent, flags, (lookup_pc + !exact) | (uint64_t)exact << 63);
}

static void check(uint32_t parent, uint64_t lookup_pc, bool exact, uint32_t number)
{
	const struct tape_node *node = &test.nodes[number];

	assert_in_range(number, TAPE_NODE_FIRST, test.lane.next_node - 1);
	if (number >= test.lane.next_node - test.lane.chunk->node_count)
		chunk_read(&test.lane);
	assert_int_equal(node->parent, parent);
	assert_int_equal(node->pc_low, (uint32_t)(lookup_pc + !exact));
	assert_int_equal(node->pc_high,
			 (uint32_t)((lookup_pc + !exact) >> 32 & 0xffff) | (uint32_t)exact << 31);
}

static uint64_t random_next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *state >> 33;
}

/* A stack of so many frames, all of which are asked for, each one of `pcs` addresses. */
static void event(uint64_t *random, uint32_t depth, uint32_t pcs)
{
	uint32_t node = random_next(random) % 64 == 0 ? TAPE_NODE_TRUNCATED : TAPE_NODE_ROOT;

	if (test.lane.tables->crowded)
		rec_tables_make_room(&test.lane);
	for (uint32_t i = 0; i < depth; i++) {
		const uint64_t pc = UINT64_C(0x7f0000000000) + random_next(random) % pcs * 0x10001;
		const bool exact = random_next(random) % 100 == 0;
		const uint32_t parent = node;

		node = step(parent, pc, exact);
		check(rec_node_number(&test.lane, parent), pc, exact,
		      rec_node_number(&test.lane, node));
	}
}

static void test_few_stacks_are_defined_once(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < 20000; i++)
		event(&random, 3, 20);
	assert_true(test.lane.next_node <= 2 * (40 + 40 * 40 + 40 * 40 * 40));
	assert_int_equal(test.rules_asked, 20);
	assert_int_equal(test.lane.tables->node_base, 0);
}

static void test_tables_grow_and_keep_what_they_know(void **state)
{
	uint64_t random = 2;
	uint32_t nodes;

	(void)state;
	for (int i = 0; i < 2000; i++)
		event(&random, 20, 3000);
	assert_int_equal(test.rules_asked, 3000);
	nodes = test.lane.next_node;
	random = 2;
	for (int i = 0; i < 2000; i++)
		event(&random, 20, 3000);
	assert_int_equal(test.lane.next_node, nodes);
	assert_int_equal(test.rules_asked, 3000);
}

static void test_full_tables_are_emptied(void **state)
{
	uint64_t random = 3;

	(void)state;
	for (int i = 0; i < 40000; i++)
		event(&random, 20, 200000);
	assert_true(test.lane.tables->node_base > 0);
	assert_true(rec.private_bytes <= 5 << 20);
}

static void test_one_stack_deeper_than_all_there_is_room_for(void **state)
{
	uint64_t random = 4;

	(void)state;
	event(&random, 700000, 50000);
	event(&random, 700000, 50000);
	for (int i = 0; i < 100; i++)
		event(&random, 20, 10);
	assert_false(test.lane.tables->crowded);
}

static void test_more_long_steps_than_are_kept(void **state)
{
	uint64_t random = 5;

	(void)state;
	test.many_steps = MANY_STEPS;
	for (int i = 0; i < 5000; i++)
		event(&random, 20, 5 * MANY_STEPS);
}

static void test_addresses_that_no_place_can_hold(void **state)
{
	const uint64_t pc = UINT64_C(0xffffff600000);
	uint32_t first, second;

	(void)state;
	first = step(TAPE_NODE_ROOT, pc, false);
	check(TAPE_NODE_ROOT, pc, false, first);
	second = step(first, pc, false);
	check(first, pc, false, second);
	assert_int_equal(test.lane.tables->place_count, 0);
}

static void test_what_is_forgotten_is_asked_again(void **state)
{
	uint64_t random = 6;

	(void)state;
	event(&random, 5, 1);
	assert_int_equal(test.rules_asked, 1);
	rec_tables_forget(&test.lane);
	event(&random, 5, 1);
	assert_int_equal(test.rules_asked, 2);
}

/* As if a handler had left node_define() by longjmp, behind the node and before what follows. */
static void test_a_node_that_nobody_came_to_use(void **state)
{
	uint32_t number;

	(void)state;
	check(TAPE_NODE_ROOT, 1000, false, step(TAPE_NODE_ROOT, 1000, false));
	for (uint64_t pc = 2000; pc < 2010; pc++) {
		number = rec_node_number(&test.lane, step(TAPE_NODE_ROOT, pc, false));
		test.lane.next_node--;
		test.lane.nodes += sizeof(struct tape_node);
		assert_int_equal(rec_node_number(&test.lane, step(TAPE_NODE_ROOT, pc + 100, false)),
				 number + 1);
		check(TAPE_NODE_ROOT, pc, false, number);
		check(TAPE_NODE_ROOT, pc + 100, false, number + 1);
	}
}

#define TABLES_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TABLES_TEST(test_few_stacks_are_defined_once),
		TABLES_TEST(test_tables_grow_and_keep_what_they_know),
		TABLES_TEST(test_full_tables_are_emptied),
		TABLES_TEST(test_one_stack_deeper_than_all_there_is_room_for),
		TABLES_TEST(test_more_long_steps_than_are_kept),
		TABLES_TEST(test_addresses_that_no_place_can_hold),
		TABLES_TEST(test_what_is_forgotten_is_asked_again),
		TABLES_TEST(test_a_node_that_nobody_came_to_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
