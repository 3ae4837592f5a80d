#include "arch/native.h"

enum { CONTEXT_HEAD = 20 }; /* of the ucontext before its struct sigcontext */

/*
 * mov $173, %eax; int $0x80; and for handlers without a siginfo, whose struct sigcontext is behind the
 * signal's number: pop %eax; mov $119, %eax; int $0x80.
 */
const struct arch_trampoline arch_trampolines[ARCH_TRAMPOLINES] = {
	{ 7, 5, ARCH_CONTEXT_ABOVE_SP, ARCH_CONTEXT_ABOVE_SP, { 0xb8, 0xad, 0, 0, 0, 0xcd, 0x80 } },
	{ 8, 6, 4 - CONTEXT_HEAD, -CONTEXT_HEAD, { 0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80 } },
};

/* After 20 bytes of flags, link and stack: gs, fs, es, ds, edi, esi, ebp, esp, ebx, edx, ecx, eax, ..., eip. */
const uint16_t arch_context_offset[ARCH_REGS] = {
	64, 60, 56, 52, ARCH_CONTEXT_SP, ARCH_CONTEXT_FP, 40, 36, ARCH_CONTEXT_PC
};
