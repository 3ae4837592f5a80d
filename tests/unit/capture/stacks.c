#include "../test.h"

#include "capture/stacks.h"

static void load(struct capture_stacks *stacks, uint32_t id, uint64_t begin, uint64_t end,
		 const char *path, uint64_t ticks)
{
	const struct tape_module module = {
		.id = id, .build_id_bytes = 2, .bias = begin, .begin = begin, .end = end
	};

	assert_true(capture_stacks_load(stacks, &module, (const uint8_t *)"ab", path, strlen(path),
					ticks));
}

static void equal_stacks_are_one(void **state)
{
	struct capture_stacks stacks;
	uint32_t main_id, a, b;

	(void)state;
	assert_true(capture_stacks_init(&stacks));
	main_id = capture_stacks_intern(&stacks, CAPTURE_STACK_ROOT, 0x1000, false);
	a = capture_stacks_intern(&stacks, main_id, 0x2000, false);
	b = capture_stacks_intern(&stacks, main_id, 0x3000, false);
	assert_int_equal(main_id, CAPTURE_STACK_FIRST);
	assert_int_not_equal(a, b);
	assert_int_equal(capture_stacks_intern(&stacks, main_id, 0x2000, false), a);
	assert_int_not_equal(capture_stacks_intern(&stacks, main_id, 0x2000, true), a);
	assert_int_not_equal(capture_stacks_intern(&stacks, CAPTURE_STACK_TRUNCATED, 0x1000, false),
			     main_id);
	capture_stacks_deinit(&stacks);
}

static void parents_have_lower_ids_in_a_large_tree(void **state)
{
	struct capture_stacks stacks;
	uint32_t parent = CAPTURE_STACK_ROOT;

	(void)state;
	assert_true(capture_stacks_init(&stacks));
	for (uint64_t i = 0; i < 200000; i++)
		parent = capture_stacks_intern(&stacks, i % 64 ? parent : CAPTURE_STACK_ROOT,
					       i * 2654435761 % 50021, false);
	for (size_t id = CAPTURE_STACK_FIRST; id < stacks.nodes.count; id++)
		assert_true(stacks.nodes.items[id].parent < id);
	capture_stacks_deinit(&stacks);
}

/* As a list would have it: in runs, each node below the one before, and from anywhere. */
static void every_stack_is_one_whatever_the_order(void **state)
{
	enum { NODES = 4000, CALLS = 40000, PCS = 5 };
	static uint32_t parents[NODES], pcs[NODES];
	struct capture_stacks stacks;
	uint32_t count = CAPTURE_STACK_FIRST, last = CAPTURE_STACK_NONE; /* before the first */
	uint64_t random = 3;

	(void)state;
	assert_true(capture_stacks_init(&stacks));
	for (int call = 0; call < CALLS && count < NODES; call++) {
		const uint64_t drawn = (random = random * 6364136223846793005 + 1) >> 33;
		const uint32_t parent = drawn % 4 || !call ? last : (uint32_t)(drawn / 4 % count);
		const uint32_t pc = (uint32_t)(drawn / 4 / NODES % PCS);
		uint32_t id = CAPTURE_STACK_FIRST;

		while (id < count && (parents[id] != parent || pcs[id] != pc))
			id++;
		if (id == count) {
			parents[count] = parent;
			pcs[count++] = pc;
		}
		last = capture_stacks_intern(&stacks, parent, 0x1000 + pc / 2, pc % 2);
		assert_int_equal(last, id);
		if (drawn / 64 % 8 == 0)
			last = (uint32_t)(drawn / 512 % CAPTURE_STACK_FIRST);
	}
	assert_int_equal(stacks.nodes.count, count);
	assert_in_range(count, NODES / 2, NODES);
	assert_in_range(stacks.slotted_count, 1, count / 2); /* most need no slot */
	capture_stacks_deinit(&stacks);
}

static void a_link_is_kept_with_its_file(void **state)
{
	static const char paths[] = "/bin/link\0/lib/file";
	static const char ended[] = "/bin/other";
	struct tape_module module = { .id = 1, .begin = 0x1000, .end = 0x2000 };
	struct capture_stacks stacks;

	(void)state;
	assert_true(capture_stacks_init(&stacks));
	assert_true(capture_stacks_load(&stacks, &module, NULL, paths, sizeof(paths) - 1, 1));
	module = (struct tape_module) { .id = 2, .begin = 0x3000, .end = 0x4000 };
	assert_true(capture_stacks_load(&stacks, &module, NULL, ended, sizeof(ended), 1));
	load(&stacks, 3, 0x5000, 0x6000, "", 1);
	assert_string_equal(stacks.modules.items[0].path, "/bin/link");
	assert_string_equal(stacks.modules.items[0].file, "/lib/file");
	assert_string_equal(stacks.modules.items[1].path, "/bin/other");
	assert_string_equal(stacks.modules.items[1].file, "");
	assert_string_equal(stacks.modules.items[2].file, "");
	capture_stacks_deinit(&stacks);
}

static void a_pc_belongs_to_the_module_around_it(void **state)
{
	struct capture_stacks stacks;
	uint32_t id;

	(void)state;
	assert_true(capture_stacks_init(&stacks));
	load(&stacks, 7, 0x5000, 0x6000, "/lib/b", 1);
	load(&stacks, 6, 0x1000, 0x2000, "/bin/a", 1);
	id = capture_stacks_intern(&stacks, 0, 0x5800, false);
	assert_string_equal(stacks.modules.items[stacks.nodes.items[id].module].path, "/lib/b");
	id = capture_stacks_intern(&stacks, 0, 0x1001, false);
	assert_string_equal(stacks.modules.items[stacks.nodes.items[id].module].path, "/bin/a");
	/* a return address may be one past the end: the call was its module's last instruction */
	id = capture_stacks_intern(&stacks, 0, 0x2000, false);
	assert_string_equal(stacks.modules.items[stacks.nodes.items[id].module].path, "/bin/a");
	id = capture_stacks_intern(&stacks, 0, 0x2000, true);
	assert_int_equal(stacks.nodes.items[id].module, CAPTURE_MODULE_NONE);
	id = capture_stacks_intern(&stacks, 0, 0x4000, false);
	assert_int_equal(stacks.nodes.items[id].module, CAPTURE_MODULE_NONE);
	capture_stacks_deinit(&stacks);
}

static void a_module_announced_late_gets_the_frames_met_before(void **state)
{
	struct capture_stacks stacks;
	uint32_t id;

	(void)state;
	assert_true(capture_stacks_init(&stacks));
	id = capture_stacks_intern(&stacks, 0, 0x5800, false);
	assert_int_equal(stacks.nodes.items[id].module, CAPTURE_MODULE_NONE);
	load(&stacks, 1, 0x5000, 0x6000, "/lib/late", 5);
	assert_int_equal(stacks.nodes.items[id].module, 0);
	assert_int_equal(capture_stacks_intern(&stacks, 0, 0x5800, false), id);
	capture_stacks_deinit(&stacks);
}

static void one_address_in_two_modules_is_two_frames(void **state)
{
	struct capture_stacks stacks;
	uint32_t caller, called, before, after;

	(void)state;
	assert_true(capture_stacks_init(&stacks));
	load(&stacks, 1, 0x5000, 0x6000, "/lib/first", 1);
	caller = capture_stacks_intern(&stacks, CAPTURE_STACK_ROOT, 0x100, false);
	called = capture_stacks_intern(&stacks, caller, 0x5800, false);
	before = capture_stacks_intern(&stacks, CAPTURE_STACK_ROOT, 0x5800, false);
	assert_int_equal(capture_stacks_intern(&stacks, caller, 0x5800, false), called);
	capture_stacks_unload(&stacks, 1, 10);
	load(&stacks, 2, 0x5000, 0x7000, "/lib/second", 20);
	after = capture_stacks_intern(&stacks, CAPTURE_STACK_ROOT, 0x5800, false);
	assert_int_not_equal(before, after);
	assert_int_not_equal(capture_stacks_intern(&stacks, caller, 0x5800, false), called);
	assert_string_equal(stacks.modules.items[stacks.nodes.items[before].module].path,
			    "/lib/first");
	assert_string_equal(stacks.modules.items[stacks.nodes.items[after].module].path,
			    "/lib/second");
	assert_int_equal(stacks.modules.items[0].unload_ticks, 10);
	assert_int_equal(stacks.modules.items[1].load_ticks, 20);
	capture_stacks_deinit(&stacks);
}

static void a_module_told_twice_is_one(void **state)
{
	struct capture_stacks stacks;

	(void)state;
	assert_true(capture_stacks_init(&stacks));
	load(&stacks, 1, 0x5000, 0x6000, "/lib/a", 1);
	load(&stacks, 1, 0x5000, 0x6000, "/lib/a", 2);
	assert_int_equal(stacks.modules.count, 1);
	capture_stacks_deinit(&stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_are_one),
		cmocka_unit_test(parents_have_lower_ids_in_a_large_tree),
		cmocka_unit_test(every_stack_is_one_whatever_the_order),
		cmocka_unit_test(a_link_is_kept_with_its_file),
		cmocka_unit_test(a_pc_belongs_to_the_module_around_it),
		cmocka_unit_test(a_module_announced_late_gets_the_frames_met_before),
		cmocka_unit_test(one_address_in_two_modules_is_two_frames),
		cmocka_unit_test(a_module_told_twice_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
