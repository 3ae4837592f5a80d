/*
 * i386: see native.h. Registers: System V psABI for the Intel386, table 2.14. In the ucontext the
 * general registers follow 20 bytes of flags, link and stack, and the segment registers.
 */
#ifndef MEMTAPE_ARCH_I386_H
#define MEMTAPE_ARCH_I386_H

#include <elf.h>
#include <stdbool.h>

#include "arch/words32.h"
#include "arch/x86.h"

enum {
	ARCH_ELF_MACHINE = EM_386,
	ARCH_ELF_OTHER = EM_X86_64,
	ARCH_CALL_FORK = SYS_fork,
	ARCH_CALL_CLOCK_SHORT = 265,
	ARCH_REGS = 9,
	ARCH_REG_FP = 5,
	ARCH_REG_OTHER_FP = ARCH_REG_FP,
	ARCH_REG_SP = 4,
	ARCH_REG_PC = 8,
	ARCH_REG_RA = 8,
	ARCH_RA_BELOW_CFA = 4,
	ARCH_RECORD_BELOW_FP = 0,
	ARCH_RECORD_BELOW_CFA = 8,
	ARCH_STACK_UNIT = 4,
	ARCH_CODE_SHIFT = 0,
	ARCH_LINK_BYTES = 0,
	ARCH_HAS_EXIDX = 0,
	ARCH_ADDRESS_BITS = 32,
	ARCH_RED_ZONE_BYTES = 0,
	ARCH_SIGSET_BYTES = 8,
	ARCH_MAP_ANONYMOUS = 0x20,
	ARCH_MAP_NORESERVE = 0x4000,
	ARCH_DLOPEN_DEEPBIND = 8,
	ARCH_CONTEXT_BYTES = 108,
	ARCH_CONTEXT_FP = 44,
	ARCH_CONTEXT_SP = 48,
	ARCH_CONTEXT_PC = 76,
	ARCH_CONTEXT_RA = 76,
	ARCH_CONTEXT_ABOVE_SP = 140, /* of struct rt_sigframe: arguments, the siginfo */
	ARCH_RELOC_CALL = R_386_JMP_SLOT,
	ARCH_RELOC_DATA = R_386_GLOB_DAT,
	ARCH_RELOC_WORD = R_386_32,
	ARCH_PAIRS_EVEN = 0,
	ARCH_TRAMPOLINES = 2,
	ARCH_TRAMPOLINE_BYTES = 8,
	ARCH_TRAMPOLINE_ALONE = 0
};

/* struct stat64 of the kernel. */
struct arch_stat {
	uint64_t st_dev;
	uint32_t pad0;
	uint32_t ino32;
	uint32_t st_mode;
	uint32_t st_nlink;
	uint32_t st_uid;
	uint32_t st_gid;
	uint64_t st_rdev;
	uint32_t pad1;
	int64_t st_size;
	uint32_t st_blksize;
	uint64_t st_blocks;
	uint32_t times[6];
	uint64_t st_ino;
};

#define ARCH_OTHER_LIBRARY	  "../libmemtape.so"
#define ARCH_OTHER_SYSTEM_LIBRARY "../../x86_64-linux-gnu/memtape/libmemtape.so"

#define ARCH_STAT struct arch_stat

#define ARCH_HOOK_CFA()	     ((arch_word)__builtin_frame_address(0) + 8)
#define ARCH_HOOK_FP()	     (*(const arch_word *)__builtin_frame_address(0))
#define ARCH_HOOK_OTHER_FP() 0

struct arch_return {
};
#define ARCH_RETURN() ((struct arch_return) {})

static inline arch_word arch_return_slot(const struct arch_return *place, arch_word cfa)
{
	(void)place;
	return cfa - ARCH_RA_BELOW_CFA;
}

/* As it is on the stack: what is behind one of 32 bits is passed on, too. */
typedef struct {
	uint32_t low, high;
} arch_offset;

static inline uint64_t arch_offset_bytes(arch_offset offset, bool is_wide)
{
	return is_wide ? (uint64_t)offset.high << 32 | offset.low : offset.low;
}

/*
 * The frame pointer's register has the last argument. For whoever unwinds from a signal that comes then:
 * CFA = [esp] + 8. (Whoever calls this has a frame pointer.)
 */
static inline long arch_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	long result;

	__asm__ volatile("pushl %[f]\n"
			 "	push %%ebp\n"
			 "	.cfi_remember_state\n"
			 "	.cfi_escape 0x0f, 5, 0x74, 0, 0x06, 0x23, 8\n"
			 "	mov 4(%%esp), %%ebp\n"
			 "	int $0x80\n"
			 "	pop %%ebp\n"
			 "	.cfi_restore_state\n"
			 "	add $4, %%esp"
			 : "=a"(result)
			 : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e), [f] "g"(f)
			 : "memory");
	return result;
}

static inline long arch_syscall5(long number, long a, long b, long c, long d, long e)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
			 : "memory");
	return result;
}

/*
 * Calls that create a process go to rec_syscall_fork(), those that close the sandbox to
 * rec_syscall_sandbox(), the one that ends the process to rec_syscall_exit(), all others to
 * rec_syscall_real() with unchanged arguments.
 */
_Static_assert(SYS_clone == 120 && SYS_fork == 2 && SYS_clone3 == 435 && SYS_seccomp == 354 &&
		       SYS_prctl == 172 && SYS_exit_group == 252,
	       "as below");

/* clang-format off */
#define ARCH_SYSCALL_ENTRY()                                                                       \
	__asm__(".pushsection .text\n"                                                             \
		".globl syscall\n"                                                                 \
		".type syscall, @function\n"                                                       \
		"syscall:\n"                                                                       \
		".cfi_startproc\n"                                                                 \
		"	mov 4(%esp), %eax\n"                                                      \
		"	cmp $120, %eax\n"                                                         \
		"	je 1f\n"                                                                  \
		"	cmp $2, %eax\n"                                                           \
		"	je rec_syscall_fork\n"                                                    \
		"	cmp $435, %eax\n"                                                         \
		"	je 2f\n"                                                                  \
		"	cmp $354, %eax\n"                                                         \
		"	je rec_syscall_sandbox\n"                                                 \
		"	cmp $172, %eax\n"                                                         \
		"	je rec_syscall_sandbox\n"                                                 \
		"	cmp $252, %eax\n"                                                         \
		"	je rec_syscall_exit\n"                                                    \
		"0:	call 3f\n"                                                                \
		".cfi_adjust_cfa_offset 4\n"                                                       \
		"3:	pop %eax\n"                                                               \
		".cfi_adjust_cfa_offset -4\n"                                                      \
		"	add $_GLOBAL_OFFSET_TABLE_ + (. - 3b), %eax\n"                            \
		"	jmp *rec_syscall_real@GOTOFF(%eax)\n"                                     \
		"1:	testl $0x100, 8(%esp)\n" /* CLONE_VM */                                   \
		"	jnz 0b\n"                                                                 \
		"	cmpl $0, 12(%esp)\n" /* its own stack, on which it returns */             \
		"	jne 0b\n"                                                                 \
		"	jmp rec_syscall_fork\n"                                                   \
		"2:	sub $4, %esp\n"                                                           \
		".cfi_adjust_cfa_offset 4\n"                                                       \
		"	pushl 16(%esp)\n" /* the third argument, then the second */               \
		".cfi_adjust_cfa_offset 4\n"                                                       \
		"	pushl 16(%esp)\n"                                                         \
		".cfi_adjust_cfa_offset 4\n"                                                       \
		"	call rec_clone3_forks\n"                                                  \
		"	add $12, %esp\n"                                                          \
		".cfi_adjust_cfa_offset -12\n"                                                     \
		"	test %al, %al\n"                                                          \
		"	jz 0b\n"                                                                  \
		"	jmp rec_syscall_fork\n"                                                   \
		".cfi_endproc\n"                                                                   \
		".size syscall, . - syscall\n"                                                     \
		".popsection\n")
/* clang-format on */

#endif
