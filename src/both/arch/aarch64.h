/*
 * aarch64: see native.h. Registers: DWARF for the Arm 64-bit Architecture (AADWARF64), section 4.1.
 * A return address may be signed (pointer authentication): unused high bits of it are a code then.
 */
#ifndef MEMTAPE_ARCH_AARCH64_H
#define MEMTAPE_ARCH_AARCH64_H

#include <elf.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "arch/words64.h"

enum {
	ARCH_ELF_MACHINE = EM_AARCH64,
	ARCH_ELF_OTHER = EM_ARM,
	ARCH_CALL_FORK = SYS_clone,
	ARCH_REGS = 33,
	ARCH_REG_FP = 29,
	ARCH_REG_OTHER_FP = ARCH_REG_FP,
	ARCH_REG_RA = 30,
	ARCH_REG_SP = 31,
	ARCH_REG_PC = 32,
	ARCH_RA_BELOW_CFA = 0,
	ARCH_RECORD_BELOW_FP = 0,
	ARCH_RECORD_BELOW_CFA = 0,
	ARCH_STACK_UNIT = 16,
	ARCH_CODE_SHIFT = 1,
	ARCH_LINK_BYTES = 0,
	ARCH_HAS_EXIDX = 0,
	ARCH_ADDRESS_BITS = 48,
	ARCH_RED_ZONE_BYTES = 0,
	ARCH_SIGSET_BYTES = 8,
	ARCH_MAP_ANONYMOUS = 0x20,
	ARCH_MAP_NORESERVE = 0x4000,
	ARCH_DLOPEN_DEEPBIND = 8,
	ARCH_CONTEXT_BYTES = 448,
	ARCH_CONTEXT_FP = 416,
	ARCH_CONTEXT_RA = 424,
	ARCH_CONTEXT_SP = 432,
	ARCH_CONTEXT_PC = 440,
	ARCH_CONTEXT_ABOVE_SP = 128, /* of struct rt_sigframe: the siginfo comes first */
	ARCH_RELOC_CALL = R_AARCH64_JUMP_SLOT,
	ARCH_RELOC_DATA = R_AARCH64_GLOB_DAT,
	ARCH_RELOC_WORD = R_AARCH64_ABS64,
	ARCH_TRAMPOLINES = 1,
	ARCH_TRAMPOLINE_BYTES = 8,
	ARCH_TRAMPOLINE_CALL = 4,
	ARCH_TRAMPOLINE_ALONE = 1
};

#define ARCH_OTHER_LIBRARY	  "arm/libmemtape.so"
#define ARCH_OTHER_SYSTEM_LIBRARY "../../arm-linux-gnueabihf/memtape/libmemtape.so"

#define ARCH_STAT struct stat

/* gcc's: a frame record is not at the end of its frame. */
#define ARCH_HOOK_CFA()	     ((uint64_t)__builtin_dwarf_cfa())
#define ARCH_HOOK_FP()	     (*(const uint64_t *)__builtin_frame_address(0))
#define ARCH_HOOK_OTHER_FP() 0

/* In the frame record. */
struct arch_return {
	uint64_t slot;
};
#define ARCH_RETURN() ((struct arch_return) { (uint64_t)__builtin_frame_address(0) + 8 })

static inline uint64_t arch_return_slot(const struct arch_return *place, uint64_t cfa)
{
	(void)cfa;
	return place->slot;
}

/* DW_CFA_AARCH64_negate_ra_state, ..._with_pc */
static inline bool arch_cfa_is_mark(uint8_t op)
{
	return op == 0x2d || op == 0x2c;
}

/* Signed with the other key; frames with tagged memory. */
static inline bool arch_augmentation_is_mark(char letter)
{
	return letter == 'B' || letter == 'G';
}

/* XPACLRI, which does nothing where the processor knows no signatures. */
static inline uint64_t arch_code_address(uint64_t address)
{
	register uint64_t x30 __asm__("x30") = address;

	__asm__("hint #7" : "+r"(x30));
	return x30;
}

static inline int arch_map_flags(int flags)
{
	return flags;
}

static inline bool arch_is_call(const uint8_t *code)
{
	(void)code;
	return true;
}

static inline long arch_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

static inline uint64_t arch_ticks(void)
{
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}

static inline bool arch_ticks_are_steady(void)
{
	return true;
}

/* It counts at 24 MHz to 1 GHz: what is recorded counts at 31 MHz or more, or all there is. */
static inline uint8_t arch_ticks_shift(void)
{
	enum { LEAST_HZ = 31000000, MOST = 5 };
	uint64_t hz;
	uint8_t shift = 0;

	__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
	while (shift < MOST && hz >> (shift + 1) >= LEAST_HZ)
		shift++;
	return shift;
}

static inline bool arch_exchange_u16(uint16_t *at, uint16_t *old, uint16_t next)
{
	return __atomic_compare_exchange_n(at, old, next, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static inline void arch_pause(void)
{
	__asm__ volatile("yield" : : : "memory");
}

/*
 * Calls that create a process go to rec_syscall_fork(), those that close the sandbox to
 * rec_syscall_sandbox(), the one that ends the process to rec_syscall_exit(), all others to
 * rec_syscall_real() with unchanged arguments.
 */
_Static_assert(SYS_clone == 220 && SYS_clone3 == 435 && SYS_seccomp == 277 && SYS_prctl == 167 &&
		       SYS_exit_group == 94,
	       "as below");

/* clang-format off */
#define ARCH_SYSCALL_ENTRY()                                                                       \
	__asm__(".pushsection .text\n"                                                             \
		".globl syscall\n"                                                                 \
		".type syscall, %function\n"                                                       \
		".balign 4\n"                                                                      \
		"syscall:\n"                                                                       \
		".cfi_startproc\n"                                                                 \
		"	hint	#34\n" /* bti c */                                                 \
		"	cmp	x0, #220\n"                                                        \
		"	b.eq	1f\n"                                                              \
		"	cmp	x0, #435\n"                                                        \
		"	b.eq	2f\n"                                                              \
		"	cmp	x0, #277\n"                                                        \
		"	b.eq	rec_syscall_sandbox\n"                                             \
		"	cmp	x0, #167\n"                                                        \
		"	b.eq	rec_syscall_sandbox\n"                                             \
		"	cmp	x0, #94\n"                                                         \
		"	b.eq	rec_syscall_exit\n"                                                \
		"0:	adrp	x16, rec_syscall_real\n"                                           \
		"	ldr	x16, [x16, :lo12:rec_syscall_real]\n"                              \
		"	br	x16\n"                                                             \
		"1:	tbnz	w1, #8, 0b\n" /* CLONE_VM */                                       \
		"	cbnz	x2, 0b\n" /* its own stack, on which it returns */                 \
		"	b	rec_syscall_fork\n"                                                \
		"2:	stp	x29, x30, [sp, #-80]!\n"                                           \
		".cfi_def_cfa_offset 80\n"                                                         \
		".cfi_offset 29, -80\n"                                                            \
		".cfi_offset 30, -72\n"                                                            \
		"	mov	x29, sp\n"                                                         \
		"	stp	x0, x1, [sp, #16]\n"                                               \
		"	stp	x2, x3, [sp, #32]\n"                                               \
		"	stp	x4, x5, [sp, #48]\n"                                               \
		"	str	x6, [sp, #64]\n"                                                   \
		"	mov	x0, x1\n"                                                          \
		"	mov	x1, x2\n"                                                          \
		"	bl	rec_clone3_forks\n"                                                \
		"	mov	w16, w0\n"                                                         \
		"	ldp	x0, x1, [sp, #16]\n"                                               \
		"	ldp	x2, x3, [sp, #32]\n"                                               \
		"	ldp	x4, x5, [sp, #48]\n"                                               \
		"	ldr	x6, [sp, #64]\n"                                                   \
		"	ldp	x29, x30, [sp], #80\n"                                             \
		".cfi_def_cfa_offset 0\n"                                                          \
		".cfi_restore 29\n"                                                                \
		".cfi_restore 30\n"                                                                \
		"	tbz	w16, #0, 0b\n"                                                     \
		"	b	rec_syscall_fork\n"                                                \
		".cfi_endproc\n"                                                                   \
		".size syscall, . - syscall\n"                                                     \
		".popsection\n")
/* clang-format on */

#endif
