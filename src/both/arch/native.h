/*
 * native: everything that depends on the processor. Each has one header, which defines all of this:
 *
 *	arch_word		an address, or what is at one; ARCH_WORD_BYTES of it
 *	ARCH_ELF_MACHINE	e_machine of its ELF files
 *	ARCH_ELF_OTHER		that of programs with words of the other size, which the kernel runs,
 *				too; EM_NONE: there are none
 *	ARCH_OTHER_LIBRARY	where the recorder of those is: from the folder of its own
 *	ARCH_OTHER_SYSTEM_LIBRARY  the same where each has a folder of its own below the system's
 *	ARCH_CALL_FORK		the system call that forks and has no arguments, or SYS_clone
 *	ARCH_CALL_MMAP, ...	system calls that are called otherwise where a word has 32 bits;
 *	ARCH_MMAP_UNIT		bytes that the offset of that counts;
 *	ARCH_CALL_CLOCK_SHORT	what old kernels have for ARCH_CALL_CLOCK;
 *	ARCH_PAIRS_EVEN		numbers of 64 bits begin at the first, third or fifth argument
 *	ARCH_REGS		registers that unwinding follows, by their DWARF numbers (psABI);
 *	ARCH_REG_FP, _SP, _PC	those of the frame pointer, stack pointer and program counter
 *	ARCH_REG_OTHER_FP	another one in which functions keep their frame pointer, or _FP
 *	ARCH_REG_RA		that of the return address: _PC, or a register of its own
 *	ARCH_RA_BELOW_CFA	bytes from the return address to the canonical frame address; 0: a
 *				call leaves it in _RA, and functions save it where they like
 *	ARCH_RECORD_BELOW_FP	bytes from the saved frame pointer and return address of a function
 *				that keeps a frame pointer up to that; ARCH_RECORD_NONE: where
 *				they are does not follow from it
 *	ARCH_RECORD_BELOW_CFA	bytes from these up to the CFA; 0: that does not follow from them
 *	ARCH_STACK_UNIT		of which every CFA is a multiple, at least
 *				ARCH_WORD_BYTES
 *	ARCH_CODE_SHIFT		lowest bits of a return address that are always 0, less one
 *	ARCH_LINK_BYTES		so many before a return address hold a call, if arch_is_call(), which
 *				tells it from other numbers; 0: they need not be looked at
 *	ARCH_HAS_EXIDX		1: unwind tables are those of ARM's EHABI (unwind/exidx.h), and .eh_frame
 *				where an object has it
 *	ARCH_ADDRESS_BITS	of addresses that the kernel gives to programs
 *	ARCH_RED_ZONE_BYTES	below the stack pointer, which code may use
 *	ARCH_SIGSET_BYTES	of a set of signals, as the kernel takes it
 *	ARCH_MAP_ANONYMOUS, ...	flags of mmap() and dlopen() that are not the same everywhere
 *	arch_map_flags()	of mmap() -> those of most processors, which the tape has
 *	ARCH_STAT		what its fstat() and newfstatat() fill
 *	ARCH_CONTEXT_BYTES	of the kernel's ucontext, as far as registers are in it;
 *	ARCH_CONTEXT_FP, ...	where they are; ARCH_CONTEXT_RA: of what calls leave in a register
 *	ARCH_CONTEXT_ABOVE_SP	where it is when a signal's handler has returned
 *	ARCH_RELOC_CALL, ...	relocations that store a function's address: called through,
 *				loaded from, any word
 *	arch_relocation		one of them; arch_relocation_type(), ...: what it says;
 *	ARCH_DT_RELOCATIONS	the table of them
 *	ARCH_TRAMPOLINES	kinds of code with which signal handlers are returned from;
 *	ARCH_TRAMPOLINE_BYTES	of the longest
 *	ARCH_TRAMPOLINE_ALONE	it may be where no object is, for the kernel made it
 *	arch_cfa_is_mark()	operations and letters of .eh_frame without operands that say no more
 *	arch_augmentation_...()	than that return addresses are signed
 *	arch_code_address()	a return address as it is written in memory -> where it leads
 *	ARCH_HOOK_CFA()		of the function that this is in, which has a frame pointer;
 *	ARCH_HOOK_FP()		the frame pointer of that function's caller, and
 *	ARCH_HOOK_OTHER_FP()	ARCH_REG_OTHER_FP, which is there in functions that it calls, too
 *	struct arch_return	where that function's return address is, so far as its CFA does not
 *	ARCH_RETURN()		tell;
 *	arch_return_slot()	the address of that, until the function ends
 *	arch_offset		the last argument of mmap() and mmap64(), as both have it;
 *	arch_offset_bytes()	what it says in the one of 32 bits or the one of 64
 *	arch_syscall6()		a system call; returns the kernel's result;
 *	arch_syscall5()		the same of at most five arguments
 *	arch_ticks()		the counter that all processors of the machine share, and
 *	arch_ticks_are_steady()	whether it counts at one rate
 *	arch_ticks_shift()	that many bits of it are finer than what is recorded
 *	arch_exchange_u16()	stores next where *old is, else makes *old what is there; it may fail
 *				without a reason
 *	arch_pause()		for loops that wait for memory to be changed by another thread
 *	ARCH_SYSCALL_ENTRY()	the hook of syscall(), which is not a C function
 *
 * What all processors with words of 64 bits have in common is in words64.h, which their headers include,
 * and words32.h is that of the others; so are x86.h, no_marks.h and no_ticks.h of those that have them in common.
 *
 * Immutable or stateless, hence thread-safe and async-signal-safe.
 */
#ifndef MEMTAPE_ARCH_NATIVE_H
#define MEMTAPE_ARCH_NATIVE_H

#include <stdint.h>

enum { ARCH_RECORD_NONE = -1 };

#if defined(__x86_64__)
#include "arch/x86_64.h"
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#include "arch/aarch64.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "arch/riscv64.h"
#elif defined(__mips64) && _MIPS_SIM == _ABI64
#include "arch/mips64.h"
#elif defined(__arm__) && defined(__ARM_EABI__) && defined(__ARMEL__)
#include "arch/arm.h"
#elif defined(__i386__)
#include "arch/i386.h"
#else
#error "no such processor: add src/both/arch/NAME.h and NAME.c"
#endif

/* Code with which a C library, or the kernel, returns from a signal's handler. */
struct arch_trampoline {
	uint8_t bytes, call; /* of it, and from its start to its system call */
	int16_t above_sp; /* bytes from the stack pointer to the kernel's ucontext at its start, */
	int16_t above_call_sp; /* and at its system call */
	uint8_t code[ARCH_TRAMPOLINE_BYTES];
};

extern const struct arch_trampoline arch_trampolines[ARCH_TRAMPOLINES];
extern const uint16_t arch_context_offset[ARCH_REGS]; /* bytes from the kernel's ucontext */

#endif
