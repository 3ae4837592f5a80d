/*
 * x86_64_tracer: see tracer.h. Registers are those of user_regs_struct of <sys/user.h>.
 */
#ifndef MEMTAPE_ARCH_X86_64_TRACER_H
#define MEMTAPE_ARCH_X86_64_TRACER_H

#include <sys/syscall.h>

enum {
	ARCH_REGSET_WORDS = 27,
	ARCH_REGSET_RESULT = 10,
	ARCH_REGSET_NUMBER = 15,
	ARCH_REGSET_PC = 16,
	ARCH_REGSET_SP = 19,
	ARCH_REGSET_THREAD = 21,
	ARCH_CONTROL_SELF = 16, /* of glibc's struct pthread */
	ARCH_CONTROL_ALIGNMENT = 64,
	ARCH_CALL_BYTES = 2,
	ARCH_REGSET_ARGUMENT = 14,
	ARCH_REGSET_ARGUMENT_2 = 13,
	ARCH_REGSET_ARGUMENT_3 = 12,
	ARCH_REGSET_ARGUMENT_4 = 7,
	ARCH_REGSET_ARGUMENT_5 = 9,
	ARCH_REGSET_ARGUMENT_6 = 8,
	ARCH_REGSET_FUNCTION_3 = 12,
	ARCH_REGSET_FLAGS = 18,
	ARCH_LANDING_RESULT = 5,
	ARCH_FLAG_DIRECTION = 1 << 10
};

static inline void arch_regset_call(uint64_t *registers, uint64_t at, long number,
				    const uint64_t arguments[6])
{
	registers[ARCH_REGSET_PC] = at;
	registers[ARCH_REGSET_RESULT] = (uint64_t)number;
	registers[ARCH_REGSET_NUMBER] = UINT64_MAX; /* not in a call now */
	registers[ARCH_REGSET_ARGUMENT] = arguments[0];
	registers[ARCH_REGSET_ARGUMENT_2] = arguments[1];
	registers[ARCH_REGSET_ARGUMENT_3] = arguments[2];
	registers[ARCH_REGSET_ARGUMENT_4] = arguments[3];
	registers[ARCH_REGSET_ARGUMENT_5] = arguments[4];
	registers[ARCH_REGSET_ARGUMENT_6] = arguments[5];
}

/* The stack is writable below `stack`, where the address to return to is written by who calls. */
static inline void arch_regset_enter(uint64_t *registers, uint64_t function, uint64_t stack,
				     const uint64_t arguments[3])
{
	registers[ARCH_REGSET_PC] = function;
	registers[ARCH_REGSET_SP] = stack;
	registers[ARCH_REGSET_RESULT] = 0;
	registers[ARCH_REGSET_NUMBER] = UINT64_MAX;
	registers[ARCH_REGSET_FLAGS] &= ~(uint64_t)ARCH_FLAG_DIRECTION;
	registers[ARCH_REGSET_ARGUMENT] = arguments[0];
	registers[ARCH_REGSET_ARGUMENT_2] = arguments[1];
	registers[ARCH_REGSET_FUNCTION_3] = arguments[2];
}

/*
 * The kernel's results of calls that it would make again on its way out, which a program never sees
 * (linux/errno.h); the last one goes on by another call, which knows how much time is left.
 */
static inline void arch_regset_rest(uint64_t *registers)
{
	enum { AGAIN = -512, AGAIN_ALWAYS = -513, AGAIN_IF_UNHANDLED = -514, CONTINUE = -516 };
	const int64_t result = (int64_t)registers[ARCH_REGSET_RESULT];

	if ((int64_t)registers[ARCH_REGSET_NUMBER] < 0 ||
	    (result != AGAIN && result != AGAIN_ALWAYS && result != AGAIN_IF_UNHANDLED &&
	     result != CONTINUE))
		return;
	registers[ARCH_REGSET_RESULT] =
		result == CONTINUE ? SYS_restart_syscall : registers[ARCH_REGSET_NUMBER];
	registers[ARCH_REGSET_PC] -= ARCH_CALL_BYTES;
	registers[ARCH_REGSET_NUMBER] = UINT64_MAX;
}

#endif
