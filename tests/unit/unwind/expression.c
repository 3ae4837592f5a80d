#include "../test.h"

#include "unwind/expression.h"

#include <dwarf.h>

#define OPERATIONS(...) { __VA_ARGS__ }, sizeof((const uint8_t[]) { __VA_ARGS__ })

enum { FIRST = 1000, REG_BX = 3, BX = 0x1234 };

/* Runs with FIRST on the stack; rbx, rsp and rip are known. */
static const struct {
	const char *what;
	uint8_t operations[24];
	size_t bytes;
	bool ok;
	uint64_t value;
} rows[] = {
	{ "nothing", OPERATIONS(DW_OP_nop), true, FIRST },
	{ "literal", OPERATIONS(DW_OP_lit0 + 31), true, 31 },
	{ "const1s", OPERATIONS(DW_OP_const1s, 0xff), true, UINT64_MAX },
	{ "const2u", OPERATIONS(DW_OP_const2u, 0xff, 0xff), true, 0xffff },
	{ "const4s", OPERATIONS(DW_OP_const4s, 0xfe, 0xff, 0xff, 0xff), true, -(uint64_t)2 },
	{ "const8u", OPERATIONS(DW_OP_const8u, 1, 0, 0, 0, 0, 0, 0, 0x80), true,
	  UINT64_C(0x8000000000000001) },
	{ "constu", OPERATIONS(DW_OP_constu, 0x80, 1), true, 128 },
	{ "consts", OPERATIONS(DW_OP_consts, 0x7f), true, UINT64_MAX },
	{ "addr cut off", OPERATIONS(DW_OP_addr, 1, 2, 3), false, 0 },
	{ "breg", OPERATIONS(DW_OP_breg0 + REG_BX, 0x7f), true, BX - 1 },
	{ "bregx", OPERATIONS(DW_OP_bregx, REG_BX, 1), true, BX + 1 },
	{ "reg", OPERATIONS(DW_OP_reg0 + REG_BX), true, BX },
	{ "unknown register", OPERATIONS(DW_OP_breg0 + 12, 0), false, 0 },
	{ "no such register", OPERATIONS(DW_OP_bregx, 40, 0), false, 0 },
	{ "dup", OPERATIONS(DW_OP_dup, DW_OP_plus), true, 2 * FIRST },
	{ "over", OPERATIONS(DW_OP_lit1, DW_OP_over), true, FIRST },
	{ "pick", OPERATIONS(DW_OP_lit1, DW_OP_lit2, DW_OP_pick, 2), true, FIRST },
	{ "pick too deep", OPERATIONS(DW_OP_pick, 1), false, 0 },
	{ "drop all", OPERATIONS(DW_OP_drop), false, 0 },
	{ "swap", OPERATIONS(DW_OP_lit1, DW_OP_swap, DW_OP_minus), true, 1 - (uint64_t)FIRST },
	{ "rot", OPERATIONS(DW_OP_lit1, DW_OP_lit2, DW_OP_rot, DW_OP_minus), true, FIRST - 1 },
	{ "rot, the third", OPERATIONS(DW_OP_lit1, DW_OP_lit2, DW_OP_rot, DW_OP_drop, DW_OP_drop),
	  true, 2 },
	{ "plus_uconst", OPERATIONS(DW_OP_plus_uconst, 24), true, FIRST + 24 },
	{ "abs", OPERATIONS(DW_OP_const1s, 0xfb, DW_OP_abs), true, 5 },
	{ "neg", OPERATIONS(DW_OP_neg), true, -(uint64_t)FIRST },
	{ "not", OPERATIONS(DW_OP_not), true, ~(uint64_t)FIRST },
	{ "and", OPERATIONS(DW_OP_lit8, DW_OP_and), true, 8 },
	{ "or", OPERATIONS(DW_OP_lit7, DW_OP_or), true, 1007 },
	{ "xor", OPERATIONS(DW_OP_dup, DW_OP_xor), true, 0 },
	{ "mul", OPERATIONS(DW_OP_lit3, DW_OP_mul), true, 3000 },
	{ "div", OPERATIONS(DW_OP_const1s, 0xfd, DW_OP_div), true, -(uint64_t)333 },
	{ "div by zero", OPERATIONS(DW_OP_lit0, DW_OP_div), false, 0 },
	{ "div that overflows",
	  OPERATIONS(DW_OP_const8u, 0, 0, 0, 0, 0, 0, 0, 0x80, DW_OP_const1s, 0xff, DW_OP_div),
	  true, UINT64_C(1) << 63 },
	{ "mod", OPERATIONS(DW_OP_lit7, DW_OP_mod), true, 6 },
	{ "mod by zero", OPERATIONS(DW_OP_lit0, DW_OP_mod), false, 0 },
	{ "shl", OPERATIONS(DW_OP_lit3, DW_OP_shl), true, 8000 },
	{ "shl all", OPERATIONS(DW_OP_const1u, 64, DW_OP_shl), true, 0 },
	{ "shr", OPERATIONS(DW_OP_lit3, DW_OP_shr), true, 125 },
	{ "shra", OPERATIONS(DW_OP_neg, DW_OP_lit3, DW_OP_shra), true, -(uint64_t)125 },
	{ "shra all", OPERATIONS(DW_OP_neg, DW_OP_const1u, 70, DW_OP_shra), true, UINT64_MAX },
	{ "lt is signed", OPERATIONS(DW_OP_const1s, 0xff, DW_OP_lt), true, 0 },
	{ "gt is signed", OPERATIONS(DW_OP_const1s, 0xff, DW_OP_gt), true, 1 },
	{ "eq", OPERATIONS(DW_OP_dup, DW_OP_eq), true, 1 },
	{ "ne", OPERATIONS(DW_OP_dup, DW_OP_ne), true, 0 },
	{ "ge", OPERATIONS(DW_OP_dup, DW_OP_ge), true, 1 },
	{ "le", OPERATIONS(DW_OP_lit0, DW_OP_le), true, 0 },
	{ "skip", OPERATIONS(DW_OP_skip, 1, 0, DW_OP_lit1, DW_OP_nop), true, FIRST },
	{ "skip to the end", OPERATIONS(DW_OP_skip, 1, 0, DW_OP_lit1), true, FIRST },
	{ "skip beyond", OPERATIONS(DW_OP_skip, 2, 0, DW_OP_lit1), false, 0 },
	{ "skip before", OPERATIONS(DW_OP_skip, 0xfc, 0xff), false, 0 },
	{ "for ever", OPERATIONS(DW_OP_skip, 0xfd, 0xff), false, 0 },
	{ "pushing for ever", OPERATIONS(DW_OP_lit1, DW_OP_skip, 0xfc, 0xff), false, 0 },
	{ "bra taken", OPERATIONS(DW_OP_lit1, DW_OP_bra, 1, 0, DW_OP_lit5), true, FIRST },
	{ "bra not taken", OPERATIONS(DW_OP_lit0, DW_OP_bra, 1, 0, DW_OP_lit5), true, 5 },
	{ "deref", OPERATIONS(DW_OP_breg7, 8, DW_OP_deref), true, UINT64_C(0x8877665544332211) },
	{ "deref_size", OPERATIONS(DW_OP_breg7, 8, DW_OP_deref_size, 2), true, 0x2211 },
	{ "deref_size of nothing", OPERATIONS(DW_OP_breg7, 8, DW_OP_deref_size, 0), false, 0 },
	{ "deref below the stack", OPERATIONS(DW_OP_breg7, 0x7f, DW_OP_deref), false, 0 },
	{ "deref across its end", OPERATIONS(DW_OP_breg7, 9, DW_OP_deref), false, 0 },
	{ "the PLT's",
	  OPERATIONS(DW_OP_breg0 + 16, 0, DW_OP_lit15, DW_OP_and, DW_OP_lit11, DW_OP_ge, DW_OP_lit3,
		     DW_OP_shl),
	  true, 8 },
	{ "not an operation", OPERATIONS(0xff), false, 0 },
};

static void expressions_have_their_values(void **state)
{
	const uint64_t stack[] = { 0, UINT64_C(0x8877665544332211) };
	const struct unwind_memory memory = { .begin = (uintptr_t)stack,
					      .end = (uintptr_t)(stack + 2) };
	struct unwind_regs regs = { .known = 1 << REG_BX | 1 << ARCH_REG_SP | 1 << ARCH_REG_PC };
	const uint64_t first = FIRST;

	(void)state;
	regs.value[REG_BX] = BX;
	regs.value[ARCH_REG_SP] = (uintptr_t)stack;
	regs.value[ARCH_REG_PC] = 0x100b;
	for (size_t i = 0; i < array_size(rows); i++) {
		const uint8_t *operations = rows[i].operations;
		struct bytes b = { .at = operations, .end = operations + rows[i].bytes };
		uint64_t value = 7;
		bool ok = expression_run(b, &memory, &regs, &first, &value);

		if (ok != rows[i].ok || (ok && value != rows[i].value))
			print_error("%s: %d %#lx\n", rows[i].what, ok, value);
		assert_int_equal(ok, rows[i].ok);
		assert_true(value == (ok ? rows[i].value : 7));
	}
}

static void an_empty_expression_has_no_value_of_its_own(void **state)
{
	const struct unwind_memory anywhere = { 0 };
	const struct unwind_regs regs = { 0 };
	const uint8_t none = 0;
	const struct bytes b = { .at = &none, .end = &none };
	const uint64_t first = FIRST;
	uint64_t value;

	(void)state;
	assert_false(expression_run(b, &anywhere, &regs, NULL, &value));
	assert_true(expression_run(b, &anywhere, &regs, &first, &value));
	assert_int_equal(value, FIRST);
}

static void a_failed_cursor_gives_no_value(void **state)
{
	const struct unwind_memory anywhere = { 0 };
	const struct unwind_regs regs = { 0 };
	const uint8_t one = DW_OP_lit1;
	const struct bytes b = { .at = &one, .end = &one, .failed = true };
	const uint64_t first = FIRST;
	uint64_t value;

	(void)state;
	assert_false(expression_run(b, &anywhere, &regs, &first, &value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_have_their_values),
		cmocka_unit_test(an_empty_expression_has_no_value_of_its_own),
		cmocka_unit_test(a_failed_cursor_gives_no_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
