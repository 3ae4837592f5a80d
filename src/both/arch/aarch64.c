#include "arch/native.h"

/* mov x8, #139; svc #0: the vDSO's, or musl's */
const uint8_t arch_trampoline[ARCH_TRAMPOLINE_BYTES] = { 0x68, 0x11, 0x80, 0xd2, 1, 0, 0, 0xd4 };

/* 168 bytes of flags, link, stack and signals, made a multiple of 16, and the fault's address. */
const uint16_t arch_context_offset[ARCH_REGS] = { 184,
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
						  ARCH_CONTEXT_FP,
						  ARCH_CONTEXT_RA,
						  ARCH_CONTEXT_SP,
						  ARCH_CONTEXT_PC };
