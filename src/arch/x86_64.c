#include "arch/arch.h"

#include "core/poison.h"

/*
 * Register numbers: System V psABI for x86-64, figure 3.36. ucontext: the general registers follow
 * 40 bytes of flags, link and stack, in the kernel's order (struct sigcontext), not in DWARF's.
 */
const struct arch arch_x86_64 = {
	.name = "x86_64",
	.elf_machine = 62, /* EM_X86_64 */
	.reg_count = 17,
	.reg_sp = 7,
	.reg_bp = 6,
	.reg_pc = 16,
	.ra_cfa_offset = -8,
	.sigreturn_bytes = 9,
	/* mov $15, %rax; syscall: glibc and musl write it the same way */
	.sigreturn = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 },
	.sigreturn_syscall = 7,
	.reg_name = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10",
		      "r11", "r12", "r13", "r14", "r15", "rip" },
	.ucontext_offset = { 144, 136, 152, 128, 112, 104, 120, 160, 40, 48, 56, 64, 72, 80, 88, 96,
			     168 },
};
