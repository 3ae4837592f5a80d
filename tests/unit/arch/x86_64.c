#include "../test.h"

#include "arch/arch.h"

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
	assert_int_equal(arch_native()->reg_count, array_size(gregs));
	for (size_t i = 0; i < array_size(gregs); i++)
		assert_int_equal(arch_native()->ucontext_offset[i],
				 offsetof(ucontext_t, uc_mcontext.gregs) +
					 (size_t)gregs[i] * sizeof(greg_t));
}
#endif

static void every_register_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < arch_x86_64.reg_count; i++) {
		assert_non_null(arch_x86_64.reg_name[i]);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(arch_x86_64.reg_name[i], arch_x86_64.reg_name[j]);
	}
	assert_string_equal(arch_x86_64.reg_name[arch_x86_64.reg_sp], "rsp");
	assert_string_equal(arch_x86_64.reg_name[arch_x86_64.reg_bp], "rbp");
	assert_string_equal(arch_x86_64.reg_name[arch_x86_64.reg_pc], "rip");
	assert_int_equal(arch_x86_64.elf_machine, EM_X86_64);
}

static void the_trampoline_ends_with_its_system_call(void **state)
{
	const struct arch *arch = &arch_x86_64;

	(void)state;
	assert_true(arch->sigreturn_bytes <= ARCH_SIGRETURN_MAX);
	assert_int_equal(arch->sigreturn_syscall, arch->sigreturn_bytes - 2);
	assert_int_equal(arch->sigreturn[arch->sigreturn_syscall], 0x0f);
	assert_int_equal(arch->sigreturn[arch->sigreturn_syscall + 1], 0x05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test(registers_lie_where_the_c_library_has_them),
#endif
		cmocka_unit_test(every_register_has_a_name_of_its_own),
		cmocka_unit_test(the_trampoline_ends_with_its_system_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
