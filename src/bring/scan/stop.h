/*
 * stop: all threads of a process stopped by ptrace, with their registers, and going on as if nothing
 * had happened: signals that arrive meanwhile are delivered then, and system calls that the stop
 * interrupted are made again, also those that the kernel would let fail with EINTR (signal(7)).
 *
 * ptrace is a matter of one thread: all functions are called by the same.
 */
#ifndef MEMTAPE_SCAN_STOP_H
#define MEMTAPE_SCAN_STOP_H

#include <sys/types.h>

#include "arch/tracer.h"
#include "base/err.h"
#include "base/vec.h"
#include "scan/status.h"

enum { STOP_VECTOR_BYTES = 2816 }; /* of the vector registers, as the kernel shows them; AVX-512 */

struct stop_thread {
	pid_t tid;
	int signal;	   /* to be delivered when it goes on; 0: none */
	bool is_stopped;   /* its registers are known; false: it could not be, and was left alone */
	bool is_held;	   /* it stands still now */
	bool is_dying;	   /* it was killed while it stood still */
	bool is_kept;	   /* was traced before and stays so */
	bool is_listening; /* it is in a group stop, by SIGSTOP or the like */
	bool is_rewound; /* it will make its call again, even if we die; registers says otherwise */
	uint64_t registers[ARCH_REGSET_WORDS];
	size_t vector_bytes;
	uint8_t vectors[STOP_VECTOR_BYTES];
};

VEC_DEFINE(stop_threads, struct stop_thread);

struct stop {
	pid_t pid;
	struct stop_threads threads;
	uint32_t missed_count; /* threads that could not be stopped */
	uint64_t begin_ns;     /* monotonic */
};

/* A thread that the caller traces already. */
struct stop_kept {
	pid_t tid;	 /* 0: there is none */
	bool is_stopped; /* in signal-delivery-stop, with this signal */
	int signal;
};

/*
 * Stops all threads. An error says why it is not possible, and then all go on. A thread that does
 * not stop within a second, in an uninterruptible sleep, is left alone and counted. Undone, also
 * after an error, by stop_end, stop_late until it is done, and stop_deinit.
 */
struct err *stop_begin(struct stop *stop, pid_t pid, const struct stop_kept *kept);

/* Why a process cannot be stopped: it is traced, or else what ptrace says, a positive errno. */
struct err *stop_refusal(pid_t pid, int error);

/* The same by the status of one of its threads; NULL: nobody traces it. */
struct err *stop_traced(pid_t pid, const struct status *status);

/*
 * The registers with which a thread goes on as stop_end would let it, wherever it is by then, and
 * without the kernel, which makes a call again only where it interrupted it.
 */
void stop_rest(const struct stop_thread *thread, uint64_t registers[ARCH_REGSET_WORDS]);

/* Lets them go on. Returns how long they stood still, in ns. What is known of them stays. */
uint64_t stop_end(struct stop *stop);

/* Lets all but this one go on, which stays as it is until stop_end. */
void stop_keep_one(struct stop *stop, const struct stop_thread *kept);

/*
 * Lets those go on that have stopped only now. True: there are others, so call it again soon, for
 * as long as it says so. They go on without that when this process ends.
 */
bool stop_late(struct stop *stop);

/*
 * A thread's number by which the process's memory is reached: a first thread that has ended has
 * none any more, though the process has.
 */
pid_t stop_living(const struct stop *stop);

/* Gives a thread that is held the registers again that it had when it was stopped. */
bool stop_restore(struct stop_thread *thread);

/* What is known of the threads, for another thread of ours to read. The caller deinits copy. */
struct err *stop_copy(const struct stop *stop, struct stop *copy);

/* Somebody else has stopped the process, by SIGSTOP or the like: its threads do nothing for us. */
bool stop_is_theirs(const struct stop *stop);

void stop_deinit(struct stop *stop); /* all zeros is fine */

#endif
