#include "arch/tracer.h"

#include <stddef.h>

/* Of struct user_regs_struct. */
const uint8_t arch_regset_place[ARCH_REGS] = { 10, 12, 11, 5, 13, 14, 4, ARCH_REGSET_SP, 9,
					       8,  7,  6,  3, 2,  1,  0, ARCH_REGSET_PC };

/* Of enum perf_event_x86_regs (asm/perf_regs.h). */
const uint8_t arch_perf_place[ARCH_REGS] = { 0,	 3,  2,	 1,  4,	 5,  6,	 7, 16,
					     17, 18, 19, 20, 21, 22, 23, 8 };
const uint64_t arch_perf_registers = 0xff01ff;

/*
 * See struct arch_landing. The first part is where a called function returns to, at the end of its
 * stack. Its signal is a stop for a tracer, and nothing without one. The second part is two ways
 * into a system call; a copy of the process that nobody has taken over ends. Neither changes the
 * flags, and the second part not even the stack.
 */
/* clang-format off */
__asm__(".pushsection .rodata\n"
	".globl arch_landing\n"
	".hidden arch_landing\n"
	".type arch_landing, @object\n"
	".balign 8\n"
	"arch_landing:\n"
	"	mov	%rax, %rbx\n"
	"	mov	$39, %eax\n" /* getpid() */
	"	syscall\n"
	"	mov	%eax, %edi\n"
	"	mov	$186, %eax\n" /* gettid() */
	"	syscall\n"
	"	mov	%eax, %esi\n"
	"	mov	224(%rsp), %edx\n"
	"	mov	$234, %eax\n" /* tgkill() */
	"	syscall\n"
	".Lreturned:\n"
	"	mov	$2, %edi\n" /* SIG_SETMASK */
	"	lea	216(%rsp), %rsi\n"
	"	mov	$0, %edx\n"
	"	mov	$8, %r10d\n"
	"	mov	$14, %eax\n" /* rt_sigprocmask() */
	"	syscall\n"
	"	mov	$-1, %eax\n"
	"	mov	%eax, %edx\n"
	"	xrstor64 256(%rsp)\n"
	"	pop	%r15\n"
	"	pop	%r14\n"
	"	pop	%r13\n"
	"	pop	%r12\n"
	"	pop	%rbp\n"
	"	pop	%rbx\n"
	"	pop	%r11\n"
	"	pop	%r10\n"
	"	pop	%r9\n"
	"	pop	%r8\n"
	"	pop	%rax\n"
	"	pop	%rcx\n"
	"	pop	%rdx\n"
	"	pop	%rsi\n"
	"	pop	%rdi\n"
	"	lea	8(%rsp), %rsp\n"
	"	iretq\n"

	".Lcopy:\n"
	"	syscall\n"
	"	mov	%rax, %rcx\n"
	"	jrcxz	2f\n"
	"	jmp	1f\n"
	".Lcall:\n"
	"	syscall\n"
	"1:	mov	$2, %edi\n"
	"	lea	.Lwords+216(%rip), %rsi\n"
	"	mov	$0, %edx\n"
	"	mov	$8, %r10d\n"
	"	mov	$14, %eax\n"
	"	syscall\n"
	"	mov	.Lwords+48(%rip), %r11\n"
	"	mov	.Lwords+56(%rip), %r10\n"
	"	mov	.Lwords+64(%rip), %r9\n"
	"	mov	.Lwords+72(%rip), %r8\n"
	"	mov	.Lwords+80(%rip), %rax\n"
	"	mov	.Lwords+88(%rip), %rcx\n"
	"	mov	.Lwords+96(%rip), %rdx\n"
	"	mov	.Lwords+104(%rip), %rsi\n"
	"	mov	.Lwords+112(%rip), %rdi\n"
	"	jmp	*.Lwords+128(%rip)\n"
	"2:	mov	$0, %edi\n"
	"	mov	$231, %eax\n" /* exit_group() */
	"	syscall\n"
	"	.balign	8\n"
	".Lwords:\n"
	".size arch_landing, . - arch_landing\n"

	".globl arch_landing_places\n"
	".hidden arch_landing_places\n"
	".type arch_landing_places, @object\n"
	".size arch_landing_places, 8\n"
	".balign 2\n"
	"arch_landing_places:\n"
	"	.short	.Lreturned - arch_landing, .Lcall - arch_landing\n"
	"	.short	.Lcopy - arch_landing, .Lwords - arch_landing\n"
	".popsection\n");
/* clang-format on */

_Static_assert(SYS_getpid == 39 && SYS_gettid == 186 && SYS_tgkill == 234 &&
		       SYS_rt_sigprocmask == 14 && SYS_exit_group == 231,
	       "as above");
_Static_assert(offsetof(struct arch_landing_words, mask) == 216 &&
		       offsetof(struct arch_landing_words, signal) == 224 &&
		       sizeof(struct arch_landing_words) == 256,
	       "as above");
