/*
 * inject: a stopped process is made to make a system call, without libc's or the program's
 * knowledge. The thread that makes it has its own registers again afterwards, signals for it stay
 * pending meanwhile, and a call of its own that the stop interrupted is made again. All that also
 * holds if we are killed at any moment: see landing.h.
 */
#ifndef MEMTAPE_SCAN_INJECT_H
#define MEMTAPE_SCAN_INJECT_H

#include "scan/maps.h"
#include "scan/stop.h"

struct inject_call {
	long number;
	uint64_t arguments[6];
	long result; /* as from the kernel: -errno if the call failed */
	pid_t made;  /* the process that it made, stopped, traced by us; 0: none */
};

/*
 * maps are the process's. ERR_STATE: the call was not made, and why: a seccomp filter might forbid
 * it, or no thread is where it can be made. The threads stay stopped in any case.
 */
struct err *inject_call(struct stop *stop, const struct maps *maps, struct inject_call *call);

/* The same by this thread, which is held. */
struct err *inject_call_of(struct stop *stop, struct stop_thread *thread, const struct maps *maps,
			   struct inject_call *call);

/* A function that the process is made to call, as C does, with up to three arguments. */
struct inject_function {
	uint64_t address;
	uint64_t arguments[3];
	uint64_t stack_end; /* of memory that it uses as its stack; a multiple of 16 */
	uint64_t result;
};

/*
 * The thread calls it, while threads that are not held go on. ERR_STATE: it was not called; or it
 * did not return, because the process ended.
 */
struct err *inject_function_of(struct stop *stop, struct stop_thread *thread,
			       const struct maps *maps, struct inject_function *function);

/* Whether a thread is where it could be made to do something. */
bool inject_is_usable(const struct stop *stop, const struct stop_thread *thread);

#endif
