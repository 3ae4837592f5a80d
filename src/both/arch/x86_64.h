/*
 * x86_64: see native.h. Registers: System V psABI for x86-64, figure 3.36. In the ucontext the
 * general registers follow 40 bytes of flags, link and stack.
 */
#ifndef MEMTAPE_ARCH_X86_64_H
#define MEMTAPE_ARCH_X86_64_H

#include <elf.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "arch/words64.h"
#include "arch/x86.h"

enum {
	ARCH_ELF_MACHINE = EM_X86_64,
	ARCH_ELF_OTHER = EM_386,
	ARCH_CALL_FORK = SYS_fork,
	ARCH_REGS = 17,
	ARCH_REG_FP = 6,
	ARCH_REG_OTHER_FP = ARCH_REG_FP,
	ARCH_REG_SP = 7,
	ARCH_REG_PC = 16,
	ARCH_REG_RA = 16,
	ARCH_RA_BELOW_CFA = 8,
	ARCH_RECORD_BELOW_FP = 0,
	ARCH_RECORD_BELOW_CFA = 16,
	ARCH_STACK_UNIT = 8,
	ARCH_CODE_SHIFT = 0,
	ARCH_LINK_BYTES = 0,
	ARCH_HAS_EXIDX = 0,
	ARCH_ADDRESS_BITS = 47,
	ARCH_RED_ZONE_BYTES = 128,
	ARCH_SIGSET_BYTES = 8,
	ARCH_MAP_ANONYMOUS = 0x20,
	ARCH_MAP_NORESERVE = 0x4000,
	ARCH_DLOPEN_DEEPBIND = 8,
	ARCH_CONTEXT_BYTES = 304,
	ARCH_CONTEXT_FP = 120,
	ARCH_CONTEXT_SP = 160,
	ARCH_CONTEXT_PC = 168,
	ARCH_CONTEXT_RA = 168,
	ARCH_CONTEXT_ABOVE_SP = 0,
	ARCH_RELOC_CALL = R_X86_64_JUMP_SLOT,
	ARCH_RELOC_DATA = R_X86_64_GLOB_DAT,
	ARCH_RELOC_WORD = R_X86_64_64,
	ARCH_TRAMPOLINES = 1,
	ARCH_TRAMPOLINE_BYTES = 9,
	ARCH_TRAMPOLINE_CALL = 7,
	ARCH_TRAMPOLINE_ALONE = 0
};

#define ARCH_OTHER_LIBRARY	  "i386/libmemtape.so"
#define ARCH_OTHER_SYSTEM_LIBRARY "../../i386-linux-gnu/memtape/libmemtape.so"

#define ARCH_STAT struct stat

#define ARCH_HOOK_CFA()	     ((uint64_t)__builtin_frame_address(0) + 16)
#define ARCH_HOOK_FP()	     (*(const uint64_t *)__builtin_frame_address(0))
#define ARCH_HOOK_OTHER_FP() 0

struct arch_return {
};
#define ARCH_RETURN() ((struct arch_return) {})

static inline uint64_t arch_return_slot(const struct arch_return *place, uint64_t cfa)
{
	(void)place;
	return cfa - ARCH_RA_BELOW_CFA;
}

static inline long arch_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/*
 * Calls that create a process go to rec_syscall_fork(), those that close the sandbox to
 * rec_syscall_sandbox(), the one that ends the process to rec_syscall_exit(), all others to
 * rec_syscall_real() with unchanged arguments.
 */
_Static_assert(SYS_clone == 56 && SYS_fork == 57 && SYS_clone3 == 435 && SYS_seccomp == 317 &&
		       SYS_prctl == 157 && SYS_exit_group == 231,
	       "as below");

/* clang-format off */
#define ARCH_SYSCALL_ENTRY()                                                                       \
	__asm__(".pushsection .text\n"                                                             \
		".globl syscall\n"                                                                 \
		".type syscall, @function\n"                                                       \
		"syscall:\n"                                                                       \
		".cfi_startproc\n"                                                                 \
		"	cmp $56, %rdi\n"                                                           \
		"	je 1f\n"                                                                   \
		"	cmp $57, %rdi\n"                                                           \
		"	je rec_syscall_fork\n"                                                     \
		"	cmp $435, %rdi\n"                                                          \
		"	je 2f\n"                                                                   \
		"	cmp $317, %rdi\n"                                                          \
		"	je rec_syscall_sandbox\n"                                                  \
		"	cmp $157, %rdi\n"                                                          \
		"	je rec_syscall_sandbox\n"                                                  \
		"	cmp $231, %rdi\n"                                                          \
		"	je rec_syscall_exit\n"                                                     \
		"0:	jmp *rec_syscall_real(%rip)\n"                                             \
		"1:	test $0x100, %esi\n" /* CLONE_VM */                                        \
		"	jnz 0b\n"                                                                  \
		"	test %rdx, %rdx\n" /* its own stack, on which it returns */           \
		"	jnz 0b\n"                                                                  \
		"	jmp rec_syscall_fork\n"                                                    \
		"2:	push %rdi\n"                                                               \
		"	push %rsi\n"                                                               \
		"	push %rdx\n"                                                               \
		"	push %rcx\n"                                                               \
		"	push %r8\n"                                                                \
		"	push %r9\n"                                                                \
		"	sub $8, %rsp\n"                                                            \
		".cfi_adjust_cfa_offset 56\n"                                                      \
		"	mov %rsi, %rdi\n"                                                          \
		"	mov %rdx, %rsi\n"                                                          \
		"	call rec_clone3_forks\n"                                                   \
		"	add $8, %rsp\n"                                                            \
		"	pop %r9\n"                                                                 \
		"	pop %r8\n"                                                                 \
		"	pop %rcx\n"                                                                \
		"	pop %rdx\n"                                                                \
		"	pop %rsi\n"                                                                \
		"	pop %rdi\n"                                                                \
		".cfi_adjust_cfa_offset -56\n"                                                     \
		"	test %al, %al\n"                                                           \
		"	jz 0b\n"                                                                   \
		"	jmp rec_syscall_fork\n"                                                    \
		".cfi_endproc\n"                                                                   \
		".size syscall, . - syscall\n"                                                     \
		".popsection\n")
/* clang-format on */

#endif
