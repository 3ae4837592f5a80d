#include "../test.h"
#include "tables.h"

#define PROGRAM(...) { __VA_ARGS__ }, sizeof((const uint8_t[]) { __VA_ARGS__ })

/* The rule after a program that runs to its end at once, or with an offset into the function. */
static const struct {
	const char *what;
	uint8_t program[40];
	size_t bytes;
	uint32_t pc_offset;
	enum unwind_kind kind;
	uint32_t saved;
	int32_t offset;
} rows[] = {
	{ "the CIE alone", PROGRAM(0), 0, UNWIND_SP, 0, 1 },
	{ "offset", PROGRAM(0x0e, 24), 0, UNWIND_SP, 0, 3 },
	{ "bp pushed", PROGRAM(0x0e, 16, 0x86, 2), 0, UNWIND_SP, 2, 2 },
	{ "bp is the CFA's base", PROGRAM(0x86, 2, 0x0c, 6, 16), 0, UNWIND_BP, 2, 2 },
	{ "below bp", PROGRAM(0x12, 6, 2), 0, UNWIND_BP, 0, -2 },
	{ "before an advance", PROGRAM(0x45, 0x0e, 16), 4, UNWIND_SP, 0, 1 },
	{ "after an advance", PROGRAM(0x45, 0x0e, 16), 5, UNWIND_SP, 0, 2 },
	{ "advance by a byte", PROGRAM(0x02, 0x80, 0x0e, 16), 127, UNWIND_SP, 0, 1 },
	{ "advanced by a byte", PROGRAM(0x02, 0x80, 0x0e, 16), 128, UNWIND_SP, 0, 2 },
	{ "advance by two", PROGRAM(0x03, 0x81, 0, 0x0e, 16), 129, UNWIND_SP, 0, 2 },
	{ "advance by four", PROGRAM(0x04, 0x81, 0, 0, 0, 0x0e, 16), 128, UNWIND_SP, 0, 1 },
	{ "advance by eight", PROGRAM(0x1d, 9, 0, 0, 0, 0, 0, 0, 0, 0x0e, 16), 9, UNWIND_SP, 0, 2 },
	{ "remembered", PROGRAM(0x0e, 16, 0x0a, 0x0e, 32, 0x0b), 0, UNWIND_SP, 0, 2 },
	{ "remembered with bp", PROGRAM(0x86, 2, 0x0a, 0xc6, 0x0b), 0, UNWIND_SP, 2, 1 },
	{ "restored", PROGRAM(0x86, 2, 0xc6), 0, UNWIND_SP, 0, 1 },
	{ "restored, long", PROGRAM(0x86, 2, 0x06, 6), 0, UNWIND_SP, 0, 1 },
	{ "bp undefined", PROGRAM(0x07, 6), 0, UNWIND_SP, 0, 1 },
	{ "bp the same", PROGRAM(0x86, 2, 0x08, 6), 0, UNWIND_SP, 0, 1 },
	{ "offset extended", PROGRAM(0x05, 6, 3), 0, UNWIND_SP, 3, 1 },
	{ "offset extended signed", PROGRAM(0x11, 6, 3), 0, UNWIND_SP, 3, 1 },
	{ "GNU negative offset", PROGRAM(0x2f, 6, 0x7d), 0, UNWIND_SLOW, 0, 0 },
	{ "GNU argument size", PROGRAM(0x2e, 16, 0x0e, 16), 0, UNWIND_SP, 0, 2 },
	{ "CFA offset signed", PROGRAM(0x13, 0x7e), 0, UNWIND_SP, 0, 2 },
	{ "a vector register", PROGRAM(0x05, 20, 3, 0x0e, 16), 0, UNWIND_SP, 0, 2 },
	{ "outermost", PROGRAM(0x07, 16), 0, UNWIND_END, 0, 0 },
	{ "the largest offset", PROGRAM(0x0e, 0xf8, 0xff, 0x1f), 0, UNWIND_SP, 0, 65535 },
	{ "one more", PROGRAM(0x0e, 0x80, 0x80, 0x20), 0, UNWIND_SLOW, 0, 0 },
	{ "bp saved farthest", PROGRAM(0x86, 0xff, 0x0f), 0, UNWIND_SP, 2047, 1 },
	{ "bp saved farther", PROGRAM(0x86, 0x80, 0x10), 0, UNWIND_SLOW, 0, 0 },
	{ "bp saved at the CFA", PROGRAM(0x86, 0), 0, UNWIND_SLOW, 0, 0 },
	{ "bp in a register", PROGRAM(0x09, 6, 3), 0, UNWIND_SLOW, 0, 0 },
	{ "bp a number", PROGRAM(0x14, 6, 3), 0, UNWIND_SLOW, 0, 0 },
	{ "bp by expression", PROGRAM(0x10, 6, 2, 0x77, 8), 0, UNWIND_SLOW, 0, 0 },
	{ "odd CFA", PROGRAM(0x0e, 12), 0, UNWIND_SLOW, 0, 0 },
	{ "CFA in another register", PROGRAM(0x0c, 10, 0), 0, UNWIND_SLOW, 0, 0 },
	{ "return address elsewhere", PROGRAM(0x90, 2), 0, UNWIND_SLOW, 0, 0 },
	{ "return address in a register", PROGRAM(0x09, 16, 2), 0, UNWIND_SLOW, 0, 0 },
	{ "sp saved", PROGRAM(0x87, 2), 0, UNWIND_SLOW, 0, 0 },
	{ "realigned", PROGRAM(0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x78, 6), 0, UNWIND_DEREF, 1,
	  -1 },
	{ "realigned, bp kept", PROGRAM(0x0f, 3, 0x76, 8, 6), 0, UNWIND_DEREF, 0, 1 },
	{ "realigned, bp at the CFA", PROGRAM(0x86, 2, 0x0f, 3, 0x76, 8, 6), 0, UNWIND_SLOW, 0, 0 },
	{ "CFA by plain expression", PROGRAM(0x0f, 2, 0x77, 16), 0, UNWIND_SP, 0, 2 },
	{ "CFA loaded from sp", PROGRAM(0x0f, 3, 0x77, 8, 6), 0, UNWIND_SLOW, 0, 0 },
	{ "the PLT's",
	  PROGRAM(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22), 0,
	  UNWIND_SLOW, 0, 0 },
	{ "an offset after an expression", PROGRAM(0x0f, 3, 0x76, 8, 6, 0x0e, 0x80, 0x80, 0x80, 8),
	  0, UNWIND_DEREF, 0, 1 },
	{ "an unknown operation", PROGRAM(0x3f), 0, UNWIND_NONE, 0, 0 },
	{ "recalled without memory", PROGRAM(0x0b), 0, UNWIND_NONE, 0, 0 },
	{ "an expression beyond the end", PROGRAM(0x0f, 100, 0x76, 8), 0, UNWIND_NONE, 0, 0 },
	{ "a number cut off", PROGRAM(0x0e, 0x80, 0x80), 0, UNWIND_NONE, 0,
	  0 }, /* no room for padding */
	{ "remembered too often",
	  PROGRAM(10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10), 0,
	  UNWIND_NONE, 0, 0 },
};

static uint32_t rule_of_program(const uint8_t *program, size_t bytes, uint32_t pc_offset)
{
	struct tables tables = { 0 };

	tables_put_cie(&tables, EH_PE_ABSPTR, "zR");
	tables_put_fde(&tables, EH_PE_ABSPTR, tables_code(&tables, 0), program, bytes);
	return unwind_rule_compile_frames(tables.bytes, tables_code(&tables, 0) + pc_offset);
}

static void programs_become_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		uint32_t rule = rule_of_program(rows[i].program, rows[i].bytes, rows[i].pc_offset);
		uint32_t expected =
			unwind_rule_make(rows[i].kind, rows[i].saved, (uint32_t)rows[i].offset);

		if (rule != expected)
			print_error("%s: %#x, not %#x\n", rows[i].what, rule, expected);
		assert_int_equal(rule, expected);
	}
}

static void rules_give_back_what_they_were_made_of(void **state)
{
	uint32_t rule = unwind_rule_make(UNWIND_BP, 2047, (uint32_t)-32768);

	(void)state;
	assert_int_equal(unwind_rule_kind(rule), UNWIND_BP);
	assert_int_equal(unwind_rule_saved(rule), 2047 * 8);
	assert_int_equal(unwind_rule_signed_offset(rule), -32768 * 8);
	assert_int_equal(rule >> 31, 0);
	rule = unwind_rule_make(UNWIND_SP, 0, UNWIND_OFFSET_MAX);
	assert_int_equal(unwind_rule_saved(rule), 0);
	assert_int_equal(unwind_rule_offset(rule), 65535 * 8);
}

/* glibc's: the CFA is the stack pointer in the ucontext, at sp + 160. */
static void a_signal_frame_is_one_only_if_its_table_says_so(void **state)
{
	static const uint8_t program[] = { 0x0f, 4, 0x77, 0xa8, 0x01, 6 };
	struct tables tables = { 0 };
	uint64_t code = tables_code(&tables, 0);
	size_t begin;

	(void)state;
	/* "zRS" has the block and the size of "zR". */
	tables_put_cie(&tables, EH_PE_ABSPTR, "zRS");
	begin = tables_put_fde(&tables, EH_PE_ABSPTR, code, program, sizeof(program));
	assert_true(begin > 0);
	assert_int_equal(unwind_rule_compile_frames(tables.bytes, code),
			 unwind_rule_make(UNWIND_SIGNAL, 0, 1));
	assert_int_equal(rule_of_program(program, sizeof(program), 0), UNWIND_SLOW);
}

static void a_trampoline_without_a_table_is_known_by_its_code(void **state)
{
	static const uint8_t code[] = { 0x90, 0x90, 0x48, 0xc7, 0xc0, 0x0f, 0,	 0,
					0,    0x0f, 0x05, 0x90, 0x48, 0xc7, 0xc0 };
	const Elf64_Phdr load = { .p_type = PT_LOAD,
				  .p_flags = PF_R | PF_X,
				  .p_memsz = sizeof(code) };
	const uint64_t begin = (uintptr_t)code;
	struct unwind_object object;

	(void)state;
	assert_true(unwind_object_init(&object, begin, &load, 1));
	assert_int_equal(unwind_rule_compile(&object, begin), UNWIND_NONE);
	assert_int_equal(unwind_rule_compile(&object, begin + 1), UNWIND_SIGNAL);
	assert_int_equal(unwind_rule_compile(&object, begin + 2), UNWIND_SIGNAL);
	assert_int_equal(unwind_rule_compile(&object, begin + 9), UNWIND_SIGNAL);
	assert_int_equal(unwind_rule_compile(&object, begin + 10), UNWIND_NONE);
	assert_int_equal(unwind_rule_compile(&object, begin + 12), UNWIND_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_become_rules),
		cmocka_unit_test(rules_give_back_what_they_were_made_of),
		cmocka_unit_test(a_signal_frame_is_one_only_if_its_table_says_so),
		cmocka_unit_test(a_trampoline_without_a_table_is_known_by_its_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
