/*
 * native: everything that depends on the processor. Each has one header, which defines all of this:
 *
 *	ARCH_ELF_MACHINE	e_machine of its ELF files
 *	ARCH_REGS		registers that unwinding follows, by their DWARF numbers (psABI);
 *	ARCH_REG_FP, _SP, _PC	those of the frame pointer, stack pointer and return address
 *	ARCH_RA_BELOW_CFA	bytes from the return address to the canonical frame address
 *	ARCH_CFA_ABOVE_FP	bytes from the frame pointer to it, where code keeps one
 *	ARCH_RED_ZONE_BYTES	below the stack pointer, which code may use
 *	ARCH_CONTEXT_BYTES	of the kernel's ucontext, as far as registers are in it;
 *	ARCH_CONTEXT_FP, ...	where they are
 *	ARCH_RELOC_CALL, ...	relocations that store a function's address: called through,
 *				loaded from, any word
 *	ARCH_TRAMPOLINE_BYTES	code with which the C libraries return from signal handlers;
 *	ARCH_TRAMPOLINE_CALL	bytes from its start to its system call
 *	arch_syscall6()		a system call; returns the kernel's result
 *	arch_ticks()		the counter that all processors of the machine share, and
 *	arch_ticks_are_steady()	whether it counts at one rate
 *	arch_ticks_shift()	that many bits of it are finer than what is recorded
 *	arch_pause()		for loops that wait for memory to be changed by another thread
 *	ARCH_SYSCALL_ENTRY()	the hook of syscall(), which is not a C function
 *
 * Immutable or stateless, hence thread-safe and async-signal-safe.
 */
#ifndef MEMTAPE_ARCH_NATIVE_H
#define MEMTAPE_ARCH_NATIVE_H

#include <stdint.h>

#if defined(__x86_64__)
#include "arch/x86_64.h"
#else
#error "no such processor: add src/both/arch/NAME.h and NAME.c"
#endif

extern const uint8_t arch_trampoline[ARCH_TRAMPOLINE_BYTES];
extern const uint16_t arch_context_offset[ARCH_REGS]; /* bytes from the kernel's ucontext */

#endif
