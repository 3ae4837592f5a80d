#include "../test.h"

#include "arch/machine.h"
#include "arch/native.h"
#include "core/core.h"

#include <elf.h>
#include <ucontext.h>

#if defined(__x86_64__)
/* The kernel's names for what DWARF numbers, in DWARF's order. */
static const int gregs[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
			     REG_RBP, REG_RSP, REG_R8,	REG_R9,	 REG_R10, REG_R11,
			     REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

static void registers_lie_where_the_c_library_has_them(void **state)
{
	(void)state;
	assert_int_equal(ARCH_REGS, array_size(gregs));
	for (size_t i = 0; i < array_size(gregs); i++)
		assert_int_equal(arch_context_offset[i], offsetof(ucontext_t, uc_mcontext.gregs) +
								 (size_t)gregs[i] * sizeof(greg_t));
}
#endif

static void what_a_walk_reads_of_a_signal_is_what_a_step_reads(void **state)
{
	(void)state;
	assert_int_equal(arch_context_offset[ARCH_REG_FP], ARCH_CONTEXT_FP);
	assert_int_equal(arch_context_offset[ARCH_REG_SP], ARCH_CONTEXT_SP);
	assert_int_equal(arch_context_offset[ARCH_REG_PC], ARCH_CONTEXT_PC);
	for (size_t i = 0; i < ARCH_REGS; i++)
		assert_true(arch_context_offset[i] + sizeof(uint64_t) <= ARCH_CONTEXT_BYTES);
}

static void the_trampoline_ends_with_its_system_call(void **state)
{
	(void)state;
	assert_int_equal(ARCH_TRAMPOLINE_CALL, ARCH_TRAMPOLINE_BYTES - 2);
	assert_int_equal(arch_trampolines[0].code[ARCH_TRAMPOLINE_CALL], 0x0f);
	assert_int_equal(arch_trampolines[0].code[ARCH_TRAMPOLINE_CALL + 1], 0x05);
}

static void processors_are_known_by_number_and_by_name(void **state)
{
	const uint16_t known[] = { EM_X86_64, EM_AARCH64, EM_RISCV, EM_ARM, EM_MIPS };

	(void)state;
	for (size_t i = 0; i < array_size(known); i++)
		assert_int_equal(arch_machine_find(arch_machine_name(known[i])), known[i]);
	assert_string_equal(arch_machine_name(ARCH_ELF_MACHINE), "x86_64");
	assert_string_equal(arch_machine_name(EM_S390), "unknown");
	assert_int_equal(arch_machine_find("s390x"), EM_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test(registers_lie_where_the_c_library_has_them),
#endif
		cmocka_unit_test(what_a_walk_reads_of_a_signal_is_what_a_step_reads),
		cmocka_unit_test(the_trampoline_ends_with_its_system_call),
		cmocka_unit_test(processors_are_known_by_number_and_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
