/*
 * Rows of real objects, searched as a program in the kernel does, next to rules compiled one by one.
 */
#include "../test.h"

#include "bpf/tables.h"
#include "scan/stack_frames.h"

#include <dlfcn.h>
#include <math.h>

static uint32_t row_find(const struct tables_rows *rows, uint64_t address)
{
	size_t low = 0, high = rows->count;
	uint32_t rule = 0;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (rows->items[middle].pc <= address) {
			rule = rows->items[middle].rule;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return rule;
}

/* Trampolines and bottoms are known by what is around them, not by a row. */
static bool is_by_row(uint32_t rule)
{
	return rule != unwind_rule_make(UNWIND_SIGNAL, 0, 0) && rule != UNWIND_END;
}

static void compare(const char *path)
{
	CLEAN(tables_rows_deinit) struct tables_rows rows = { 0 };
	CLEAN(elf_file_close) struct elf_file *file = NULL;
	struct unwind_object object;
	uint64_t bias, compared = 0;

	assert_null(elf_file_open(path, &file));
	assert_null(tables_read(file, &rows));
	assert_true(stack_frames_tables(file, &object, &bias));
	assert_true(rows.count > 20);
	for (size_t i = 0; i < rows.count; i++) {
		assert_true(i == 0 || rows.items[i].pc > rows.items[i - 1].pc);
		assert_true(i == 0 || rows.items[i].rule != rows.items[i - 1].rule);
		for (int64_t off = -3; off <= 3; off++) {
			const uint64_t address = (uint64_t)(rows.items[i].pc + off);
			const uint32_t rule = unwind_rule_compile(&object, bias + address);

			if (!is_by_row(rule) || rows.items[i].pc < 3)
				continue;
			assert_int_equal(row_find(&rows, address), rule);
			compared++;
		}
	}
	assert_true(compared > rows.count * 4);
}

static void rows_say_what_compiled_rules_say(void **state)
{
	Dl_info info;

	(void)state;
	compare("/proc/self/exe");
	assert_true(dladdr((void *)(uintptr_t)cos, &info));
	compare(info.dli_fname);
	assert_true(dladdr((void *)(uintptr_t)dladdr, &info));
	compare(info.dli_fname);
}

static bool stop_at_third(void *context, uint64_t pc, uint32_t rule)
{
	size_t *count = context;

	(void)pc;
	(void)rule;
	return ++*count < 3;
}

static void rules_are_visited_until_one_says_no(void **state)
{
	CLEAN(elf_file_close) struct elf_file *file = NULL;
	struct unwind_object object;
	uint64_t bias;
	size_t count = 0;

	(void)state;
	assert_null(elf_file_open("/proc/self/exe", &file));
	assert_true(stack_frames_tables(file, &object, &bias));
	assert_false(unwind_rules_each(&object, stop_at_third, &count));
	assert_int_equal(count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_say_what_compiled_rules_say),
		cmocka_unit_test(rules_are_visited_until_one_says_no),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
