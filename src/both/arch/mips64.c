#include "arch/native.h"

/* li $2, 5211; syscall: the vDSO's */
const struct arch_trampoline arch_trampolines[ARCH_TRAMPOLINES] = {
	{ ARCH_TRAMPOLINE_BYTES,
	  ARCH_TRAMPOLINE_CALL,
	  ARCH_CONTEXT_ABOVE_SP,
	  ARCH_CONTEXT_ABOVE_SP,
	  {
#ifdef __MIPSEB__
		  0x24, 0x02, 0x14, 0x5b, 0, 0, 0, 0x0c
#else
		  0x5b, 0x14, 0x02, 0x24, 0x0c, 0, 0, 0
#endif
	  } },
};

/* After 40 bytes of flags, link and stack. */
const uint16_t arch_context_offset[ARCH_REGS] = { ARCH_CONTEXT_PC,
						  48,
						  56,
						  64,
						  72,
						  80,
						  88,
						  96,
						  104,
						  112,
						  120,
						  128,
						  136,
						  144,
						  152,
						  160,
						  168,
						  176,
						  184,
						  192,
						  200,
						  208,
						  216,
						  224,
						  232,
						  240,
						  248,
						  256,
						  264,
						  ARCH_CONTEXT_SP,
						  ARCH_CONTEXT_FP,
						  ARCH_CONTEXT_RA };
