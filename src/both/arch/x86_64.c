#include "arch/native.h"

/* mov $15, %rax; syscall: glibc and musl write it the same way */
const struct arch_trampoline arch_trampolines[ARCH_TRAMPOLINES] = {
	{ ARCH_TRAMPOLINE_BYTES,
	  ARCH_TRAMPOLINE_CALL,
	  ARCH_CONTEXT_ABOVE_SP,
	  ARCH_CONTEXT_ABOVE_SP,
	  { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 } },
};

/* In the kernel's order (struct sigcontext), not in DWARF's. */
const uint16_t arch_context_offset[ARCH_REGS] = {
	144, 136, 152, 128, 112, 104, ARCH_CONTEXT_FP, ARCH_CONTEXT_SP, 40, 48,
	56,  64,  72,  80,  88,	 96,  ARCH_CONTEXT_PC
};
