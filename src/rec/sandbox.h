/*
 * sandbox: what the recorder may ask of the kernel, and what it does where that is nothing. A part
 * of rec.h, which includes it.
 */
#ifndef MEMTAPE_REC_SANDBOX_H
#define MEMTAPE_REC_SANDBOX_H

#include "rec/rec.h"

/* reserve.c */
void rec_slots_reserve(void);  /* before there are no system calls any more */
void rec_collector_poll(void); /* nor is the collector woken then */
void rec_slots_forget(void);
struct tape_chunk *rec_slot_reserved(struct rec_lane *lane); /* the next one, or NULL */
bool rec_slot_is_reserved(const void *chunk);

/* sandbox.c */
void rec_sandbox_init(void);
void *rec_map(size_t bytes); /* zeroed private memory, or NULL; never freed but by */
void rec_unmap(void *memory, size_t bytes);
uint32_t rec_tid(uint32_t lane_index); /* of this thread, or some number that is no thread's */
bool rec_thread_name(char name[16]);   /* of this thread; false, and empty: not known */
void rec_yield(void);
long rec_syscall_sandbox(long number, long a, long b, long c, long d, long e, long f);

static inline bool rec_may_call(void)
{
	return likely(__atomic_load_n((const uint32_t *)&rec.sandbox, __ATOMIC_RELAXED) !=
		      REC_SANDBOX_OWN);
}

/* What no libc asks of the kernel. */
static inline bool rec_may_ask(void)
{
	return __atomic_load_n((const uint32_t *)&rec.sandbox, __ATOMIC_RELAXED) ==
	       REC_SANDBOX_NONE;
}

/*
 * Whether the eight bytes there can be read: the kernel reads them for a system call that then
 * refuses its other argument and changes nothing. (mincore() would accept a guard page.)
 */
static inline bool rec_is_readable_word(const volatile void *address)
{
	enum { NO_SUCH_HOW = -1, FAULT = -14 };

	return SYS_CALL4(SYS_rt_sigprocmask, NO_SUCH_HOW, address, NULL, 8) != FAULT;
}

/* Between looks at memory that another thread is about to change. */
static inline void rec_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

#endif
