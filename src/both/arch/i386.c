#include "arch/native.h"

/* mov $173, %eax; int $0x80 */
const uint8_t arch_trampoline[ARCH_TRAMPOLINE_BYTES] = { 0xb8, 0xad, 0, 0, 0, 0xcd, 0x80 };

/* After 20 bytes of flags, link and stack: gs, fs, es, ds, edi, esi, ebp, esp, ebx, edx, ecx, eax, ..., eip. */
const uint16_t arch_context_offset[ARCH_REGS] = {
	64, 60, 56, 52, ARCH_CONTEXT_SP, ARCH_CONTEXT_FP, 40, 36, ARCH_CONTEXT_PC
};
