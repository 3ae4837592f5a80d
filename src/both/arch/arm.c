#include "arch/native.h"

enum { PLAIN = 119, WITH_SIGINFO = 173, SIGINFO_BYTES = 128 };

#define ARM_CODE(above, number, base)                                                              \
	{                                                                                          \
		8, 4, above, above,                                                                \
		{                                                                                  \
			number, 0x70, 0xa0, 0xe3, (base) ? number : 0, 0, base, 0xef               \
		}                                                                                  \
	}
#define THUMB_CODE(above, number)                                                                  \
	{                                                                                          \
		4, 2, above, above,                                                                \
		{                                                                                  \
			number, 0x27, 0, 0xdf                                                      \
		}                                                                                  \
	}
#define THUMB_LONG_CODE(above, number)                                                             \
	{                                                                                          \
		6, 4, above, above,                                                                \
		{                                                                                  \
			0x4f, 0xf0, number, 7, 0, 0xdf                                             \
		}                                                                                  \
	}

/*
 * mov r7, #number; svc #0: the C libraries', and the kernel's, whose svc in ARM code has a number for old
 * programs as well. What is for handlers without a siginfo has none on the stack.
 */
const struct arch_trampoline arch_trampolines[ARCH_TRAMPOLINES] = {
	ARM_CODE(SIGINFO_BYTES, WITH_SIGINFO, 0),     ARM_CODE(0, PLAIN, 0),
	ARM_CODE(SIGINFO_BYTES, WITH_SIGINFO, 0x90),  ARM_CODE(0, PLAIN, 0x90),
	THUMB_CODE(SIGINFO_BYTES, WITH_SIGINFO),      THUMB_CODE(0, PLAIN),
	THUMB_LONG_CODE(SIGINFO_BYTES, WITH_SIGINFO), THUMB_LONG_CODE(0, PLAIN),
};

/* After 32 bytes of flags, link, stack and the fault. */
const uint16_t arch_context_offset[ARCH_REGS] = { 32,
						  36,
						  40,
						  44,
						  48,
						  52,
						  56,
						  ARCH_CONTEXT_FP,
						  64,
						  68,
						  72,
						  76,
						  80,
						  ARCH_CONTEXT_SP,
						  ARCH_CONTEXT_RA,
						  ARCH_CONTEXT_PC };

/*
 * Personality routines that unwind tables name, so that linkers take in what unwinds. Nobody calls
 * them: libgcc knows its own by their numbers. The recorder unwinds by itself and needs no libgcc.
 */
void __aeabi_unwind_cpp_pr0(void);
void __aeabi_unwind_cpp_pr1(void);

__attribute__((weak, visibility("hidden"))) void __aeabi_unwind_cpp_pr0(void)
{
}

__attribute__((weak, visibility("hidden"))) void __aeabi_unwind_cpp_pr1(void)
{
}
