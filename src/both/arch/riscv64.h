/*
 * riscv64: see native.h. Registers: RISC-V DWARF Specification, table 1; the program counter takes
 * the number of x0, which is always 0 and never saved, and its place in the kernel's registers.
 */
#ifndef MEMTAPE_ARCH_RISCV64_H
#define MEMTAPE_ARCH_RISCV64_H

#include <elf.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "arch/no_marks.h"
#include "arch/words64.h"

enum {
	ARCH_ELF_MACHINE = EM_RISCV,
	ARCH_ELF_OTHER = EM_NONE,
	ARCH_CALL_FORK = SYS_clone,
	ARCH_REGS = 32,
	ARCH_REG_FP = 8,
	ARCH_REG_OTHER_FP = ARCH_REG_FP,
	ARCH_REG_RA = 1,
	ARCH_REG_SP = 2,
	ARCH_REG_PC = 0,
	ARCH_RA_BELOW_CFA = 0,
	ARCH_RECORD_BELOW_FP = 16,
	ARCH_RECORD_BELOW_CFA = 16,
	ARCH_STACK_UNIT = 16,
	ARCH_CODE_SHIFT = 0, /* compressed instructions have 2 bytes */
	ARCH_LINK_BYTES = 4,
	ARCH_HAS_EXIDX = 0,
	ARCH_ADDRESS_BITS = 47,
	ARCH_RED_ZONE_BYTES = 0,
	ARCH_SIGSET_BYTES = 8,
	ARCH_MAP_ANONYMOUS = 0x20,
	ARCH_MAP_NORESERVE = 0x4000,
	ARCH_DLOPEN_DEEPBIND = 8,
	ARCH_CONTEXT_BYTES = 432,
	ARCH_CONTEXT_FP = 240,
	ARCH_CONTEXT_RA = 184,
	ARCH_CONTEXT_SP = 192,
	ARCH_CONTEXT_PC = 176,
	ARCH_CONTEXT_ABOVE_SP = 128, /* of struct rt_sigframe: the siginfo comes first */
	ARCH_RELOC_CALL = R_RISCV_JUMP_SLOT,
	ARCH_RELOC_DATA = R_RISCV_64,
	ARCH_RELOC_WORD = R_RISCV_64,
	ARCH_TRAMPOLINES = 1,
	ARCH_TRAMPOLINE_BYTES = 8,
	ARCH_TRAMPOLINE_CALL = 4,
	ARCH_TRAMPOLINE_ALONE = 1
};

#define ARCH_OTHER_LIBRARY	  ""
#define ARCH_OTHER_SYSTEM_LIBRARY ""

#define ARCH_STAT struct stat

/* The frame pointer is the CFA, and the frame record is below it. */
#define ARCH_HOOK_CFA()	     ((uint64_t)__builtin_frame_address(0))
#define ARCH_HOOK_FP()	     (((const uint64_t *)__builtin_frame_address(0))[-2])
#define ARCH_HOOK_OTHER_FP() 0

struct arch_return {
};
#define ARCH_RETURN() ((struct arch_return) {})

static inline uint64_t arch_return_slot(const struct arch_return *place, uint64_t cfa)
{
	(void)place;
	return cfa - 8;
}

static inline uint64_t arch_code_address(uint64_t address)
{
	return address;
}

static inline int arch_map_flags(int flags)
{
	return flags;
}

/* jal ra, jalr ra, c.jalr */
static inline bool arch_is_call(const uint8_t *code)
{
	const unsigned first = code[0] | code[1] << 8, last = code[2] | code[3] << 8;

	return (first & 0xfff) == 0xef || (first & 0x7fff) == 0xe7 ||
	       ((last & 0xf07f) == 0x9002 && last & 0xf80);
}

static inline long arch_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	register long a7 __asm__("a7") = number;
	register long a0 __asm__("a0") = a;
	register long a1 __asm__("a1") = b;
	register long a2 __asm__("a2") = c;
	register long a3 __asm__("a3") = d;
	register long a4 __asm__("a4") = e;
	register long a5 __asm__("a5") = f;

	__asm__ volatile("ecall"
			 : "+r"(a0)
			 : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
			 : "memory");
	return a0;
}

static inline uint64_t arch_ticks(void)
{
	uint64_t ticks;

	__asm__ volatile("rdtime %0" : "=r"(ticks));
	return ticks;
}

static inline bool arch_ticks_are_steady(void)
{
	return true;
}

/* It counts at 1 to 100 MHz. */
static inline uint8_t arch_ticks_shift(void)
{
	return 0;
}

/* In the word that it is in: older compilers call a library for less. */
static inline bool arch_exchange_u16(uint16_t *at, uint16_t *old, uint16_t next)
{
	const unsigned shift = (uint64_t)at & 2 ? 16 : 0;
	uint32_t *word = (uint32_t *)((uint64_t)at & ~UINT64_C(3));
	uint32_t before = __atomic_load_n(word, __ATOMIC_SEQ_CST);
	const uint32_t after = (before & ~(UINT32_C(0xffff) << shift)) | (uint32_t)next << shift;
	const uint16_t found = (uint16_t)(before >> shift);

	if (found != *old) {
		*old = found;
		return false;
	}
	return __atomic_compare_exchange_n(word, &before, after, true, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static inline void arch_pause(void)
{
	__asm__ volatile(".insn i 0x0f, 0, x0, x0, 0x010" : : : "memory"); /* pause */
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
		"	li	t0, 220\n"                                                         \
		"	beq	a0, t0, 1f\n"                                                      \
		"	li	t0, 435\n"                                                         \
		"	beq	a0, t0, 2f\n"                                                      \
		"	li	t0, 277\n"                                                         \
		"	beq	a0, t0, 3f\n"                                                      \
		"	li	t0, 167\n"                                                         \
		"	beq	a0, t0, 3f\n"                                                      \
		"	li	t0, 94\n"                                                          \
		"	beq	a0, t0, 4f\n"                                                      \
		"0:	ld	t0, rec_syscall_real\n"                                            \
		"	jr	t0\n"                                                              \
		"1:	andi	t0, a1, 0x100\n" /* CLONE_VM */                                    \
		"	bnez	t0, 0b\n"                                                          \
		"	bnez	a2, 0b\n" /* its own stack, on which it returns */                 \
		"	tail	rec_syscall_fork\n"                                                \
		"2:	addi	sp, sp, -64\n"                                                     \
		".cfi_def_cfa_offset 64\n"                                                         \
		"	sd	ra, 56(sp)\n"                                                      \
		".cfi_offset ra, -8\n"                                                             \
		"	sd	a0, 0(sp)\n"                                                       \
		"	sd	a1, 8(sp)\n"                                                       \
		"	sd	a2, 16(sp)\n"                                                      \
		"	sd	a3, 24(sp)\n"                                                      \
		"	sd	a4, 32(sp)\n"                                                      \
		"	sd	a5, 40(sp)\n"                                                      \
		"	sd	a6, 48(sp)\n"                                                      \
		"	mv	a0, a1\n"                                                          \
		"	mv	a1, a2\n"                                                          \
		"	call	rec_clone3_forks\n"                                                \
		"	andi	t0, a0, 1\n"                                                       \
		"	ld	a0, 0(sp)\n"                                                       \
		"	ld	a1, 8(sp)\n"                                                       \
		"	ld	a2, 16(sp)\n"                                                      \
		"	ld	a3, 24(sp)\n"                                                      \
		"	ld	a4, 32(sp)\n"                                                      \
		"	ld	a5, 40(sp)\n"                                                      \
		"	ld	a6, 48(sp)\n"                                                      \
		"	ld	ra, 56(sp)\n"                                                      \
		"	addi	sp, sp, 64\n"                                                      \
		".cfi_def_cfa_offset 0\n"                                                          \
		".cfi_restore ra\n"                                                                \
		"	beqz	t0, 0b\n"                                                          \
		"	tail	rec_syscall_fork\n"                                                \
		"3:	tail	rec_syscall_sandbox\n"                                             \
		"4:	tail	rec_syscall_exit\n"                                                \
		".cfi_endproc\n"                                                                   \
		".size syscall, . - syscall\n"                                                     \
		".popsection\n")
/* clang-format on */

#endif
