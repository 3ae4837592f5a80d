#include "../test.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/attach_inline.h"
#include "scan/prologue.h"

/* A plan for this process's own malloc, which is looked at and not changed. */
struct fixture {
	struct maps maps;
	struct memory memory;
	struct safe *safe;
	struct tape_attach_function table[2];
	struct attach_inline *plan;
	uint64_t place, behind;
	uint64_t *stack; /* a page of its own, with nothing around it */
};

enum { PAGE = 4096 };

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const uint64_t real = (uint64_t)dlsym(dlopen("libc.so.6", RTLD_NOW), "malloc");
	const struct tape_attach told = {
		.functions = (uint64_t)fixture->table,
		.function_count = array_size(fixture->table),
	};
	struct prologue prologue;

	fixture->memory = memory_of_process(getpid());
	fixture->table[0] = (struct tape_attach_function) { .real = real, .hook = real };
	assert_null(maps_read_briefly(getpid(), &fixture->maps));
	assert_null(safe_create(getpid(), "", &fixture->maps, &fixture->memory, &fixture->safe));
	assert_null(attach_inline_plan(getpid(), fixture->safe, &told, &fixture->plan));
	assert_null(prologue_move((const uint8_t *)real, 64, real, real, &prologue));
	fixture->place = prologue.place;
	fixture->behind = prologue.behind;
	fixture->stack = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(fixture->stack, MAP_FAILED);
	fixture->stack += PAGE / sizeof(*fixture->stack);
	assert_int_equal(mprotect(fixture->stack, PAGE, PROT_READ | PROT_WRITE), 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	munmap((uint8_t *)fixture->stack - PAGE, 3 * PAGE);
	attach_inline_destroy(fixture->plan);
	safe_destroy(fixture->safe);
	maps_deinit(&fixture->maps);
	free(fixture);
	return 0;
}

/* Of a thread that is there, with this word on its stack. */
static bool is_moment(const struct fixture *fixture, uint64_t pc, uint64_t word, bool is_stopped,
		      uint32_t missed_count)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	struct stop_thread thread = { .is_stopped = is_stopped };
	const struct stop stop = {
		.pid = getpid(),
		.threads = { .items = &thread, .count = 1 },
		.missed_count = missed_count,
	};

	fixture->stack[40] = word;
	assert_null(maps_read_briefly(getpid(), &maps));
	thread.registers[ARCH_REGSET_PC] = pc;
	thread.registers[ARCH_REGSET_SP] = (uint64_t)fixture->stack;
	return attach_inline_is_moment(fixture->plan, &stop, &maps);
}

static void no_thread_is_in_the_middle_of_what_is_changed(void **state)
{
	const struct fixture *fixture = *state;
	const uint64_t elsewhere = (uint64_t)&setup;

	assert_int_equal(attach_inline_count(fixture->plan), 1);
	assert_true(is_moment(fixture, elsewhere, 0, true, 0));
	assert_true(is_moment(fixture, fixture->place, 0, true, 0));
	assert_true(is_moment(fixture, fixture->behind, 0, true, 0));
	for (uint64_t pc = fixture->place + 1; pc < fixture->behind; pc++)
		assert_false(is_moment(fixture, pc, 0, true, 0));
}

static void nor_does_a_handler_return_there(void **state)
{
	const struct fixture *fixture = *state;
	const uint64_t elsewhere = (uint64_t)&setup;

	assert_true(is_moment(fixture, elsewhere, fixture->place, true, 0));
	assert_false(is_moment(fixture, elsewhere, fixture->place + 1, true, 0));
	assert_false(is_moment(fixture, elsewhere, fixture->behind - 1, true, 0));
	assert_true(is_moment(fixture, elsewhere, fixture->behind, true, 0));
}

static void and_all_stand_still(void **state)
{
	const struct fixture *fixture = *state;
	const uint64_t elsewhere = (uint64_t)&setup;

	assert_false(is_moment(fixture, elsewhere, 0, false, 0));
	assert_false(is_moment(fixture, elsewhere, 0, true, 1));
}

/* What stands there is only put back where the jump still is: of an object that is gone, it is not. */
static void what_is_there_now_stays(void **state)
{
	static const uint8_t jump[] = { 0xe9, 1, 2, 3, 4 }, before[] = { 5, 6, 7, 8, 9 },
			     other[] = { 10, 11, 12, 13, 14 };
	uint8_t places[3][sizeof(jump)];
	struct tape_attach_function table[3] = { 0 };
	const struct tape_attach told = {
		.functions = (uint64_t)table,
		.function_count = array_size(table),
	};

	(void)state;
	for (size_t i = 0; i < array_size(table); i++) {
		memcpy(places[i], i == 1 ? other : jump, sizeof(jump));
		table[i].place = (uint64_t)places[i];
		table[i].way = i < 2;
		memcpy(table[i].before, before, sizeof(before));
		memcpy(table[i].after, jump, sizeof(jump));
	}
	assert_null(attach_inline_restore(getpid(), &told));
	assert_memory_equal(places[0], before, sizeof(before));
	assert_memory_equal(places[1], other, sizeof(other));
	assert_memory_equal(places[2], jump, sizeof(jump)); /* never had a way */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_thread_is_in_the_middle_of_what_is_changed),
		cmocka_unit_test(nor_does_a_handler_return_there),
		cmocka_unit_test(and_all_stand_still),
		cmocka_unit_test(what_is_there_now_stays),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
