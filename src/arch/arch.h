/*
 * arch: what differs between processors, as one const struct each.
 *
 * Registers are named by their DWARF numbers (the psABI supplement of each processor). All structs
 * are always compiled, so that a reader on one machine can say something about tapes of another.
 * Immutable, hence thread-safe and async-signal-safe.
 */
#ifndef MEMTAPE_ARCH_ARCH_H
#define MEMTAPE_ARCH_ARCH_H

#include "core/core.h"

enum { ARCH_REGS_MAX = 17, ARCH_SIGRETURN_MAX = 16 };

struct arch {
	const char *name;     /* as uname -m says it */
	uint16_t elf_machine; /* e_machine */
	uint8_t reg_count;    /* registers unwinding follows, <= ARCH_REGS_MAX */
	uint8_t reg_sp;	      /* stack pointer */
	uint8_t reg_bp;	      /* frame pointer */
	uint8_t reg_pc;	      /* column of the return address */
	int8_t ra_cfa_offset; /* bytes from the canonical frame address to the return address */
	uint8_t sigreturn_bytes;
	uint8_t sigreturn[ARCH_SIGRETURN_MAX]; /* code of the libc's signal trampoline */
	uint8_t sigreturn_syscall; /* bytes from the trampoline to its system call instruction */
	const char *reg_name[ARCH_REGS_MAX];
	uint16_t ucontext_offset[ARCH_REGS_MAX]; /* bytes from the kernel's ucontext */
};

extern const struct arch arch_x86_64;

/* The processor this code was compiled for. */
static inline const struct arch *arch_native(void)
{
#if defined(__x86_64__)
	return &arch_x86_64;
#else
#error "no struct arch for this processor: add src/arch/NAME.c"
#endif
}

#endif
