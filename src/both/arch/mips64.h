/*
 * mips64: see native.h. Registers: the MIPS psABI's, of the n64 ABI; the program counter takes the
 * number of $0, which is always 0 and never saved. A function's frame pointer is its stack pointer,
 * so there are no frame records to follow.
 */
#ifndef MEMTAPE_ARCH_MIPS64_H
#define MEMTAPE_ARCH_MIPS64_H

#include <elf.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "arch/no_marks.h"
#include "arch/no_ticks.h"
#include "arch/words64.h"

enum {
	ARCH_ELF_MACHINE = EM_MIPS,
	ARCH_ELF_OTHER = EM_NONE,
	ARCH_CALL_FORK = SYS_fork,
	ARCH_REGS = 32,
	ARCH_REG_FP = 30,
	ARCH_REG_OTHER_FP = ARCH_REG_FP,
	ARCH_REG_RA = 31,
	ARCH_REG_SP = 29,
	ARCH_REG_PC = 0,
	ARCH_RA_BELOW_CFA = 0,
	ARCH_RECORD_BELOW_FP = ARCH_RECORD_NONE,
	ARCH_RECORD_BELOW_CFA = 0,
	ARCH_STACK_UNIT = 8, /* a ucontext is at such a place */
	ARCH_CODE_SHIFT = 1,
	ARCH_LINK_BYTES = 0,
	ARCH_HAS_EXIDX = 0,
	ARCH_ADDRESS_BITS = 48,
	ARCH_RED_ZONE_BYTES = 0,
	ARCH_SIGSET_BYTES = 16,
	ARCH_MAP_ANONYMOUS = 0x800,
	ARCH_MAP_NORESERVE = 0x400,
	ARCH_DLOPEN_DEEPBIND = 16,
	ARCH_CONTEXT_BYTES = 624,
	ARCH_CONTEXT_FP = 280,
	ARCH_CONTEXT_RA = 288,
	ARCH_CONTEXT_SP = 272,
	ARCH_CONTEXT_PC = 616,
	ARCH_CONTEXT_ABOVE_SP =
		152, /* of struct rt_sigframe: room for arguments and code, the siginfo */
	ARCH_RELOC_CALL = R_MIPS_JUMP_SLOT,
	ARCH_RELOC_DATA = R_MIPS_GLOB_DAT,
	ARCH_RELOC_WORD = R_MIPS_64,
	ARCH_TRAMPOLINES = 1,
	ARCH_TRAMPOLINE_BYTES = 8,
	ARCH_TRAMPOLINE_CALL = 4,
	ARCH_TRAMPOLINE_ALONE = 1
};

/* struct stat of the kernel, which the C library's is not. */
struct arch_stat {
	uint32_t st_dev;
	uint32_t pad0[3];
	uint64_t st_ino;
	uint32_t st_mode;
	uint32_t st_nlink;
	uint32_t st_uid;
	uint32_t st_gid;
	uint32_t st_rdev;
	uint32_t pad1[3];
	int64_t st_size;
	uint32_t times[6];
	uint32_t st_blksize;
	uint32_t pad2;
	uint64_t st_blocks;
};

#define ARCH_OTHER_LIBRARY	  ""
#define ARCH_OTHER_SYSTEM_LIBRARY ""

#define ARCH_STAT struct arch_stat

/* The saved registers are at the end of the frame, $31 and $30 first: so in all functions without `...`. */
#define ARCH_HOOK_CFA()	     ((uint64_t)__builtin_dwarf_cfa())
#define ARCH_HOOK_FP()	     (((const uint64_t *)__builtin_dwarf_cfa())[-2])
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
	static const int theirs[][2] = { { 0x400, 0x4000 },    { 0x800, 0x20 },
					 { 0x1000, 0x100 },    { 0x2000, 0x800 },
					 { 0x4000, 0x1000 },   { 0x8000, 0x2000 },
					 { 0x10000, 0x8000 },  { 0x20000, 0x10000 },
					 { 0x40000, 0x20000 }, { 0x80000, 0x40000 } };
	int result = flags & 0x3ff;

	for (unsigned i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
		result |= flags & theirs[i][0] ? theirs[i][1] : 0;
	return result | (flags & ~0xfffff);
}

static inline bool arch_is_call(const uint8_t *code)
{
	(void)code;
	return true;
}

/* $7 says whether the result is an error. */
static inline long arch_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	register long v0 __asm__("$2") = number;
	register long a0 __asm__("$4") = a;
	register long a1 __asm__("$5") = b;
	register long a2 __asm__("$6") = c;
	register long a3 __asm__("$7") = d;
	register long a4 __asm__("$8") = e;
	register long a5 __asm__("$9") = f;

	__asm__ volatile("syscall"
			 : "+r"(v0), "+r"(a3)
			 : "r"(a0), "r"(a1), "r"(a2), "r"(a4), "r"(a5)
			 : "$1", "$3", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "hi",
			   "lo", "memory");
	return a3 && v0 > 0 ? -v0 : v0;
}

static inline bool arch_exchange_u16(uint16_t *at, uint16_t *old, uint16_t next)
{
	return __atomic_compare_exchange_n(at, old, next, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static inline void arch_pause(void)
{
	__asm__ volatile("sll $0, $0, 5" : : : "memory");
}

/*
 * Calls that create a process go to rec_syscall_fork(), those that close the sandbox to
 * rec_syscall_sandbox(), the one that ends the process to rec_syscall_exit(), all others to
 * rec_syscall_real() with unchanged arguments.
 */
_Static_assert(SYS_fork == 5056 && SYS_clone == 5055 && SYS_clone3 == 5435 && SYS_seccomp == 5312 &&
		       SYS_prctl == 5153 && SYS_exit_group == 5205,
	       "as below");

/* clang-format off */
#define ARCH_SYSCALL_ENTRY()                                                                       \
	__asm__(".pushsection .text\n"                                                             \
		".globl syscall\n"                                                                 \
		".type syscall, @function\n"                                                       \
		".ent syscall\n"                                                                   \
		".balign 8\n"                                                                      \
		".set push\n"                                                                      \
		".set noreorder\n.set noat\n"                                                                 \
		".set nomacro\n"                                                                   \
		"syscall:\n"                                                                       \
		".cfi_startproc\n"                                                                 \
		"	lui	$3, %hi(%neg(%gp_rel(syscall)))\n"                                 \
		"	daddu	$3, $3, $25\n"                                                     \
		"	daddiu	$3, $3, %lo(%neg(%gp_rel(syscall)))\n" /* $3 = gp */               \
		"	li	$1, 5055\n"                                                        \
		"	beq	$4, $1, 1f\n"                                                      \
		"	li	$1, 5435\n"                                                        \
		"	beq	$4, $1, 2f\n"                                                      \
		"	li	$1, 5312\n"                                                        \
		"	beq	$4, $1, 3f\n"                                                      \
		"	li	$1, 5153\n"                                                        \
		"	beq	$4, $1, 3f\n"                                                      \
		"	li	$1, 5205\n"                                                        \
		"	beq	$4, $1, 4f\n"                                                      \
		"	li	$1, 5056\n"                                                        \
		"	beq	$4, $1, 5f\n"                                                      \
		"	nop\n"                                                                     \
		"0:	ld	$25, %got_disp(rec_syscall_real)($3)\n"                            \
		"	ld	$25, 0($25)\n"                                                     \
		"	jr	$25\n"                                                             \
		"	nop\n"                                                                     \
		"1:	andi	$1, $5, 0x100\n" /* CLONE_VM */                                    \
		"	bnez	$1, 0b\n"                                                          \
		"	nop\n"                                                                     \
		"	bnez	$6, 0b\n" /* its own stack, on which it returns */                 \
		"	nop\n"                                                                     \
		"5:	ld	$25, %got_disp(rec_syscall_fork)($3)\n"                            \
		"	jr	$25\n"                                                             \
		"	nop\n"                                                                     \
		"2:	daddiu	$sp, $sp, -80\n"                                                   \
		".cfi_def_cfa_offset 80\n"                                                         \
		"	sd	$31, 72($sp)\n"                                                    \
		".cfi_offset 31, -8\n"                                                             \
		"	sd	$3, 64($sp)\n"                                                     \
		"	sd	$4, 0($sp)\n"                                                      \
		"	sd	$5, 8($sp)\n"                                                      \
		"	sd	$6, 16($sp)\n"                                                     \
		"	sd	$7, 24($sp)\n"                                                     \
		"	sd	$8, 32($sp)\n"                                                     \
		"	sd	$9, 40($sp)\n"                                                     \
		"	sd	$10, 48($sp)\n"                                                    \
		"	ld	$25, %got_disp(rec_clone3_forks)($3)\n"                            \
		"	move	$4, $5\n"                                                          \
		"	jalr	$25\n"                                                             \
		"	move	$5, $6\n"                                                          \
		"	andi	$1, $2, 1\n"                                                       \
		"	ld	$3, 64($sp)\n"                                                     \
		"	ld	$4, 0($sp)\n"                                                      \
		"	ld	$5, 8($sp)\n"                                                      \
		"	ld	$6, 16($sp)\n"                                                     \
		"	ld	$7, 24($sp)\n"                                                     \
		"	ld	$8, 32($sp)\n"                                                     \
		"	ld	$9, 40($sp)\n"                                                     \
		"	ld	$10, 48($sp)\n"                                                    \
		"	ld	$31, 72($sp)\n"                                                    \
		"	daddiu	$sp, $sp, 80\n"                                                    \
		".cfi_def_cfa_offset 0\n"                                                          \
		".cfi_restore 31\n"                                                                \
		"	beqz	$1, 0b\n"                                                          \
		"	nop\n"                                                                     \
		"	b	5b\n"                                                              \
		"	nop\n"                                                                     \
		"3:	ld	$25, %got_disp(rec_syscall_sandbox)($3)\n"                         \
		"	jr	$25\n"                                                             \
		"	nop\n"                                                                     \
		"4:	ld	$25, %got_disp(rec_syscall_exit)($3)\n"                            \
		"	jr	$25\n"                                                             \
		"	nop\n"                                                                     \
		".cfi_endproc\n"                                                                   \
		".set pop\n"                                                                       \
		".end syscall\n"                                                                   \
		".size syscall, . - syscall\n"                                                     \
		".popsection\n")
/* clang-format on */

#endif
