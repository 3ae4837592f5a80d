/*
 * tracer: what depends on the processor for who looks at other processes: leak scans, attaching,
 * traces of the kernel. Each processor that has them has one header, which defines all of this:
 *
 *	ARCH_REGSET_WORDS	of the kernel's general registers, as a tracer reads them;
 *	ARCH_REGSET_SP, ...	where they are: stack pointer, thread pointer, program counter, a
 *				system call's result and number (all ones: none);
 *	arch_regset_place[]	the same of each register that unwinding follows
 *	arch_perf_registers	the set of these, as perf_event_open(2) numbers registers;
 *	arch_perf_place[]	the number there of each
 *	ARCH_CONTROL_SELF	where a thread's control block has its own address again, which is
 *				also its first word; ARCH_CONTROL_ALIGNMENT of its address
 *	ARCH_CALL_BYTES		of the instruction of a system call
 *	arch_regset_call()	registers with which a thread makes a system call by the instruction
 *				at an address
 *	arch_regset_enter()	registers with which a thread is at the beginning of a function
 *	arch_regset_rest()	the same of one whose system call was interrupted, to make it again
 *				without the kernel's help
 *	ARCH_LANDING_RESULT	where a function's result is when its thread has returned
 *
 * Immutable or stateless, hence thread-safe and async-signal-safe.
 */
#ifndef MEMTAPE_ARCH_TRACER_H
#define MEMTAPE_ARCH_TRACER_H

#include "arch/native.h"

#if defined(__x86_64__)
#include "arch/x86_64_tracer.h"
#else
#error "processes of such a processor are only recorded: -Dreader=disabled"
#endif

/*
 * Code by which a thread that was led to do something for a tracer goes on as before, though the
 * tracer may have died: it has its registers and its mask of signals again. It is written where
 * nothing else of the process is, and words of what is restored are behind it.
 */
struct arch_landing_words {
	uint64_t registers[ARCH_REGSET_WORDS];
	uint64_t mask;
	uint64_t
		signal; /* that the thread sends itself when it has returned; one that it ignores */
	uint64_t unused[3];
};

/*
 * A function that returns to its beginning has these words there at its stack pointer, a multiple
 * of 64, and behind them the vector registers as a tracer reads them.
 */
extern const uint8_t arch_landing[];

/* Bytes from its beginning. */
extern const struct arch_landing_places {
	uint16_t returned; /* where it is when the signal comes */
	uint16_t call;	   /* a system call is made from here, ... */
	uint16_t copy;	   /* or from here if it makes a process, which ends by itself; */
	uint16_t words;	   /* whose words are here; behind them is nothing more */
} arch_landing_places;

extern const uint8_t arch_regset_place[ARCH_REGS];
extern const uint8_t arch_perf_place[ARCH_REGS]; /* numbers of bits of arch_perf_registers */
extern const uint64_t arch_perf_registers;

#endif
