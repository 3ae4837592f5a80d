#include "arch/native.h"

/* li a7, 139; ecall: the vDSO's */
const struct arch_trampoline arch_trampolines[ARCH_TRAMPOLINES] = {
	{ ARCH_TRAMPOLINE_BYTES,
	  ARCH_TRAMPOLINE_CALL,
	  ARCH_CONTEXT_ABOVE_SP,
	  ARCH_CONTEXT_ABOVE_SP,
	  { 0x93, 0x08, 0xb0, 0x08, 0x73, 0, 0, 0 } },
};

/* 168 bytes of flags, link, stack and signals, made a multiple of 16. */
const uint16_t arch_context_offset[ARCH_REGS] = { ARCH_CONTEXT_PC,
						  ARCH_CONTEXT_RA,
						  ARCH_CONTEXT_SP,
						  200,
						  208,
						  216,
						  224,
						  232,
						  ARCH_CONTEXT_FP,
						  248,
						  256,
						  264,
						  272,
						  280,
						  288,
						  296,
						  304,
						  312,
						  320,
						  328,
						  336,
						  344,
						  352,
						  360,
						  368,
						  376,
						  384,
						  392,
						  400,
						  408,
						  416,
						  424 };
