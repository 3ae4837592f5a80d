/*
 * inject: a stopped process is made to make a system call, without libc's or the program's
 * knowledge. The thread that makes it has its own registers again afterwards, signals for it stay
 * pending meanwhile, and a call of its own that the stop interrupted is made again.
 */
#ifndef MEMTAPE_SCAN_INJECT_H
#define MEMTAPE_SCAN_INJECT_H

#include "scan/maps.h"
#include "scan/stop.h"

struct inject_call {
	long number;
	uint64_t argument; /* the first; the others are 0 */
	long result;	   /* as from the kernel: -errno if the call failed */
	pid_t made;	   /* the process that it made, stopped, traced by us; 0: none */
};

/*
 * maps are the process's. ERR_STATE: the call was not made, and why: a seccomp filter might forbid
 * it, or no thread is where it can be made. The threads stay stopped in any case.
 */
struct err *inject_call(struct stop *stop, const struct maps *maps, struct inject_call *call);

#endif
